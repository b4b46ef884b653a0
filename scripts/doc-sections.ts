import { commands } from '../src/cli/commands.ts';
import type { Command } from '../src/cli/terminal/command.ts';
import { auditActions } from '../src/domain/audit.ts';
import { transitions } from '../src/domain/delivery.ts';
import { errorTable } from '../src/domain/errors.ts';
import { providerPresets } from '../src/ingest/verify/presets.ts';
import { metricTable } from '../src/metrics/metrics.ts';
import { type Setting, settings } from '../src/settings/settings.ts';

/** The generated sections of our Markdown pages. */

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `|${cells.map((cell) => cell.replaceAll('|', '\\|')).join('|')}|`;
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

/** The states of a delivery, as a diagram that Markdown viewers draw. A way out of both open states is one line. */
export function stateSection(): string {
  const open = new Set(['Scheduled', 'Retry']);
  const ways = transitions.map(({ from, to, when }) => {
    const leaves = from !== null && open.has(from) && !open.has(to);
    return `  ${leaves ? 'Open' : (from ?? '[*]')} --> ${to}: ${when}`;
  });
  const lines = ['  state Open {', ...[...open].map((state) => `    ${state}`), '  }', ...new Set(ways)];
  return `\`\`\`mermaid\nstateDiagram-v2\n${lines.join('\n')}\n\`\`\`\n`;
}

export function configSection(): string {
  return table(
    ['variable', 'default', 'allowed', 'meaning'],
    Object.values<Setting<unknown>>(settings).map(({ env, fallback = '', doc, parse }) => [
      code(env),
      code(fallback),
      allowedText(parse.allowed),
      doc,
    ]),
  );
}

/** The allowed values of a setting, from the text of its error: without the advice, and with thousands apart. */
function allowedText(allowed: string): string {
  const [form = ''] = allowed.split(';');
  return form
    .replace(/^(a whole number from|one of|a URL starting with) |, comma separated$/g, '')
    .replaceAll(/\d{5,}/g, (digits) => Number(digits).toLocaleString('en'));
}

export function errorSection(): string {
  return table(
    ['code', 'status', 'message'],
    Object.entries(errorTable).map(([name, { status, message }]) => [
      code(name),
      String(status),
      code(message),
    ]),
  );
}

/** The actions by resource, with a note where the name alone does not say enough. */
export function actionSection(): string {
  const byResource = Map.groupBy(Object.entries(auditActions), ([name]) => name.split('.')[0] ?? '');
  const described = ([name, note]: [string, string]) =>
    note === '' ? code(name.split('.')[1] ?? '') : `${code(name.split('.')[1] ?? '')} (${note})`;
  return table(
    ['resource', 'actions'],
    [...byResource].map(([resource, actions]) => [code(resource), actions.map(described).join(', ')]),
  );
}

export function presetSection(): string {
  return table(
    ['provider', 'secret', 'signature in', 'needs too', 'event type from'],
    providerPresets.map(({ name, secretName, eventTypeLocation, eventTypeOf, ...from }) => [
      code(name),
      secretName,
      from.signatureIn ?? from.signatureHeaders.map(code).join(', '),
      from.otherHeaders.map(code).join(', '),
      eventTypeOf?.description ?? code(eventTypeLocation ?? ''),
    ]),
  );
}

/** The values of a label stand where it comes first with them. A star marks what is the same on every node. */
export function metricSection(): string {
  const shown = new Set<string>();
  const labelled = ({ name, values }: { name: string; values: readonly string[] }): string => {
    const text = `${code(name)}: ${values.join(', ')}`;
    const isRepeated = shown.has(text);
    shown.add(text);
    return isRepeated ? code(name) : text;
  };
  return table(
    ['metric', 'type', 'labels', 'meaning'],
    Object.values(metricTable).map(({ name, type, labels, help }) => [
      code(name),
      help.endsWith(SAME) ? `${type} *` : type,
      labels.map(labelled).join('; '),
      help.replace(SAME, ''),
    ]),
  );
}

const SAME = ' The same on every node.';

/** The groups whose commands of resources are shown by noun. */
const BY_NOUN = new Set(['Events', 'Config']);

/** Every command with its operands. --help has the flags. */
export function commandReference(): string {
  const groups = Map.groupBy(Object.entries(commands), ([, { group }]) => group);
  const rows = [...groups].flatMap(([group, own]) => {
    const ofResource = ([name]: [string, Command]) => BY_NOUN.has(group) && name.includes(' ');
    return [
      [`**${group}**`, ''],
      ...own.filter((row) => !ofResource(row)).map(commandRow),
      ...resourceRows(own.filter(ofResource)),
    ];
  });
  return table(['command', 'effect'], rows);
}

const commandRow = ([name, command]: [string, Command]): string[] => [
  code(synopsis(name, command)),
  command.summary,
];

/** The commands of resources by noun. A verb says what it does. */
function resourceRows(rows: [string, Command][]): string[][] {
  const byNoun = Map.groupBy(rows, ([name]) => name.split(' ')[0] ?? '');
  const verb = ([name, command]: [string, Command]) =>
    code(synopsis(name.split(' ').slice(1).join(' '), command));
  return [...byNoun].map(([noun, list]) => [code(noun), list.map(verb).join(', ')]);
}

const synopsis = (name: string, { operands = [] }: Command): string =>
  [name, ...operands.map((operand) => operand.name)].join(' ');
