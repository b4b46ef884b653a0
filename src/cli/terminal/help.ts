import { styleText } from 'node:util';
import { type Command, type Commands, isCommonFlag, usageOf } from './command.ts';
import { terminal } from './terminal.ts';

const heading = (text: string): string => styleText('bold', text, { stream: terminal().stdout });

/** All commands, or those whose name begins with a word. */
export function helpText(commands: Commands, beginning = ''): string {
  const shown = Object.entries(commands).filter(
    ([name]) => beginning === '' || name.startsWith(`${beginning} `),
  );
  const width = Math.max(...shown.map(([name]) => name.length)) + 2;
  const groups = Map.groupBy(shown, ([, { group }]) => group);
  const lines = [...groups].flatMap(([group, rows]) => [
    '',
    heading(group),
    ...rows.map(([name, { summary }]) => `  ${name.padEnd(width)}${summary}`),
  ]);
  return [
    'Posthorn takes events in and delivers them as webhooks.',
    ...lines,
    '',
    'posthorn COMMAND --help shows the arguments of a command, with examples.',
    'The server reads its settings from the environment; docs/config.md lists them.',
  ].join('\n');
}

export function commandHelp(name: string, command: Command): string {
  const { summary, details, operands = [], flags = {}, examples } = command;
  const places = operands.map((operand): [string, string] => [operand.name, operand.summary]);
  const own = Object.entries(flags).filter((flag) => !isCommonFlag(flag));
  const common = Object.entries(flags).filter(isCommonFlag);
  const section = (title: string, rows: [string, string][]): string[] => {
    if (rows.length === 0) return [];
    const width = Math.max(...rows.map(([left]) => left.length)) + 2;
    return ['', heading(title), ...rows.map(([left, right]) => `  ${left.padEnd(width)}${right}`)];
  };
  return [
    `posthorn ${usageOf(name, command)}`,
    '',
    summary,
    ...(details === undefined ? [] : [details]),
    ...section('Arguments', places),
    ...section('Flags', own.map(flagRow)),
    ...section('Flags of every command like it', common.map(flagRow)),
    ...(examples.length === 0 ? [] : ['', heading('Examples'), ...examples.map((line) => `  ${line}`)]),
  ].join('\n');
}

type NamedFlag = [string, NonNullable<Command['flags']>[string]];

export function flagRow([flag, { value, short, summary, many }]: NamedFlag): [string, string] {
  const name = `--${flag}${value === undefined ? '' : ` ${value}`}`;
  const left = short === undefined ? name : `-${short}, ${name}`;
  return [left, many === true ? `${summary} May be given several times.` : summary];
}
