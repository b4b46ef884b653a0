import { spawnSync } from 'node:child_process';
import { describe, expect, it, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { exampleOf } from '../../platform/json/schema-example.ts';
import { escapeControls, printable } from '../../platform/printable.ts';
import { commands } from '../commands.ts';
import { matchesGlob } from '../remote/tail.ts';
import { type Command, readArguments, usageOf } from './command.ts';
import { completionOf } from './completion.ts';
import { commandHelp, helpText } from './help.ts';
import { progressBar } from './progress.ts';

const names = Object.keys(commands);

describe('the table of commands', () => {
  it.each(names)('%s has a summary, examples that parse, and help', (name) => {
    const command = commands[name] as Command;
    expect(command.summary).toMatch(/^[A-Z].*\.$/);
    expect(command.examples.length).toBeGreaterThan(0);
    for (const flag of Object.values(command.flags ?? {})) expect(flag.summary).toMatch(/^[A-Z].*\.$/);
    for (const example of command.examples) {
      const [, rest = ''] = /posthorn (.*?)( \||<|>|\)|$)/.exec(example) ?? [];
      const args = spawnSync('sh', ['-c', `printf '%s\\n' ${rest}`])
        .stdout.toString()
        .trim()
        .split('\n');
      const words = name.split(' ');
      const short = words[1] === 'list' && args[1] !== 'list' ? 1 : words.length;
      expect(args.slice(0, short)).toEqual(words.slice(0, short));
      expect(() => readArguments(name, command, { args: args.slice(short), env: {} })).not.toThrow();
    }
    const help = commandHelp(name, command);
    expect(help).toContain(usageOf(name, command));
    for (const flag of Object.keys(command.flags ?? {})) expect(help).toContain(`--${flag}`);
  });

  it('shows --project where it is not the connection', () => {
    const create = commands['key create'] as Command;
    expect(usageOf('key create', create)).toBe(
      'key create [--project ID|NAME] [--name NAME] [--expires-at TIME]',
    );
    expect(usageOf('events get', commands['events get'] as Command)).toBe('events get ID');
  });

  it('is the whole help', () => {
    const help = helpText(commands);
    for (const name of names) expect(help).toContain(`  ${name} `);
  });
});

describe('arguments that are wrong', () => {
  it.each([
    ['events get', [], /ID is missing\. Usage: posthorn events get ID$/],
    ['events get', ['a', 'b'], /Unexpected argument 'b'/],
    ['deliveries list', ['--status', 'Lost'], /--status must be one of Scheduled.* not 'Lost'/],
    ['tail', ['--jsno'], /Unknown option '--jsno'; did you mean --json\?$/],
    ['tail', ['--zzz'], /Unknown option '--zzz'\. Usage: posthorn tail/],
    ['trigger', ['x', '--data'], /data/],
  ])('%s %j', (name, args, expected) => {
    const parse = () => readArguments(name, commands[name] as Command, { args, env: {} });
    expect(parse).toThrow(expected);
    expect(parse).toThrow(expect.objectContaining({ exitCode: 64 }));
  });
});

describe('completion', () => {
  const shellIsHere = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0;

  it('knows every command and flag', () => {
    for (const shell of ['bash', 'zsh', 'fish'])
      for (const name of names) expect(completionOf(shell, commands)).toContain(name.split(' ').at(-1));
  });

  it.runIf(shellIsHere('bash')).each([
    [['endp'], 'endpoints'],
    [['endpoints', 'ro'], 'roll'],
    [['endpoints', 'roll', '01KA1', '--exp'], '--expire-after'],
    [['events', 'list', '--output', 'j'], 'json'],
    [['tail', '--js'], '--json'],
  ])('of bash completes %j to %s', (words, expected) => {
    const script = `${completionOf('bash', commands)}
      COMP_WORDS=(posthorn ${words.join(' ')}); COMP_CWORD=${words.length}; _posthorn; echo "\${COMPREPLY[@]}"`;
    expect(spawnSync('bash', ['-c', script]).stdout.toString().trim()).toBe(expected);
  });
});

test('text from strangers cannot control the terminal', () => {
  expect(printable('a\u001b[31mb\u009bc\r\nd\u202ee')).toBe('ab  d e');
  const text = 'a\u001b[31mb\u009bc\r\u007fd\te\n';
  for (const value of [text, { [text]: [text] }]) {
    for (const [escaped, read] of [
      [escapeControls(JSON.stringify(value)), (json: string): unknown => JSON.parse(json)],
      [escapeControls(stringify(value)), (yaml: string): unknown => parse(yaml)],
    ] as const) {
      expect(escaped).not.toMatch(/[^\P{Cc}\n]/u);
      expect(read(escaped)).toEqual(value);
    }
  }
});

test('a progress bar shows the share that is done', () => {
  expect(progressBar(5, 10)).toBe('[###############...............] 50% 5/10');
  expect(progressBar(0, 0)).toContain('100%');
  expect(progressBar(3, null)).toBe('3 done');
});

test.each([
  ['*', 'a.b', true],
  ['a.*', 'a.b', true],
  ['a.*', 'b.a', false],
  ['a.b', 'a.b', true],
  ['a.b', 'a.bc', false],
])('the glob %s takes %s: %s', (glob, type, expected) => {
  expect(matchesGlob(glob, type)).toBe(expected);
});

test('an example has what the schema describes', () => {
  const schema = {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      at: { type: 'string', format: 'date-time' },
      state: { enum: ['paid', 'open'] },
      lines: { type: 'array', items: { $ref: '#/$defs/line' } },
    },
    $defs: { line: { type: 'object', properties: { price: { type: 'number', examples: [12.5] } } } },
  };
  expect(exampleOf(schema)).toEqual({
    id: 1,
    at: '2026-01-31T12:00:00Z',
    state: 'paid',
    lines: [{ price: 12.5 }],
  });
  const endless = {
    $ref: '#/$defs/node',
    $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } },
  };
  expect(JSON.stringify(exampleOf(endless))).toContain('next');
});
