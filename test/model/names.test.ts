import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { guards } from '../../scripts/proof/models.ts';

/** The models are true to the code only while what their actions stand for is there. */
const ROOT = join(import.meta.dirname, '..', '..');
const MODEL = join(ROOT, 'model');
const modules = readdirSync(MODEL).filter((file) => file.endsWith('.tla') && file !== 'order.tla');

/** `code: src/a.ts one two; src/b.ts three` */
const namesIn = (text: string) =>
  [...text.matchAll(/\\\* code: (.*)$/gm)].flatMap(([, list]) =>
    (list ?? '').split('; ').map((each) => {
      const [file = '', ...names] = each.trim().split(' ');
      return { file, names };
    }),
  );

describe.each(modules)('%s', (module) => {
  const text = readFileSync(join(MODEL, module), 'utf8');

  test('names what its actions stand for, and the code has each of these names', () => {
    const named = namesIn(text);
    expect(named.length).toBeGreaterThan(5);
    const missing = named.flatMap(({ file, names }) => {
      if (!existsSync(join(ROOT, file))) return [file];
      const code = readFileSync(join(ROOT, file), 'utf8');
      return names
        .filter((name) => !new RegExp(`(?<![\\w#])${name}\\b`).test(code))
        .map((name) => `${name} of ${file}`);
    });
    expect(missing).toEqual([]);
  });

  test('has a counterexample for every guard', async () => {
    const [, listed = ''] = /The guards\.[^\n]*\n([^]*?)\n\n/.exec(text) ?? [];
    const constants = [...listed.matchAll(/[A-Z][A-Z_]+/g)].map(([name]) => name);
    expect(constants.length).toBeGreaterThan(4);
    const mine = (await guards()).filter(
      ({ config }) => config.split('-')[0] === module.slice(0, -'.tla'.length),
    );
    const out = new Set(mine.flatMap(({ switches }) => switches.map((each) => each.split('=')[0])));
    expect(constants.filter((constant) => !out.has(constant))).toEqual([]);
  });
});

test('each guard has its counterexample as text, and a row in model/README.md with tests that exist', async () => {
  const page = readFileSync(join(ROOT, 'model/README.md'), 'utf8');
  const kept = readdirSync(join(MODEL, 'counterexamples'));
  for (const { config, switches, breaks } of await guards()) {
    const [constant] = switches[0]?.split('=') ?? [];
    expect(page, constant).toContain(`\`${constant}\``);
    expect(
      kept.some((file) => file.startsWith(`${config}-${constant}`) && file.endsWith(`-${breaks}.txt`)),
      constant,
    ).toBe(true);
  }
  const files = [...page.matchAll(/`((?:test|src)\/[\w./-]+\.ts)`/g)].map(([, file]) => file ?? '');
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

/** Test files that a letter stands for in the table, and that name the guards in brackets. */
const TRACES = { T: 'test/model/traces.test.ts', M: 'test/model/move-traces.test.ts' } as const;

test('each row of model/README.md names a test, and a trace is played for each guard that says so', () => {
  const page = readFileSync(join(ROOT, 'model/README.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (`[A-Z_]+`.*?) \| .* \| (.+) \|$/gm)];
  expect(rows.length).toBeGreaterThan(30);
  for (const [row, names = '', by = ''] of rows) {
    expect(by, row).toMatch(/^([GHMRST]|`[\w/.-]+\.test\.ts`)(, `[\w/.-]+\.test\.ts`)*$/);
    const file = TRACES[by as keyof typeof TRACES];
    if (file === undefined) continue;
    const code = readFileSync(join(ROOT, file), 'utf8');
    for (const [, guard = ''] of names.matchAll(/`([A-Z_]+)`/g))
      expect(code, guard).toMatch(new RegExp(`\\[[A-Z_, ]*\\b${guard}\\b`));
  }
});
