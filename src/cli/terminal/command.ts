import { parseArgs } from 'node:util';
import { nearestName } from '../../platform/nearest-name.ts';
import { usageError } from '../../platform/startup-error.ts';

/** A row of the table of commands. Help, the reference in docs/cli.md and the completion are made from it. */
export interface Command {
  group: Group;
  summary: string;
  /** Further sentences for the help of the command. */
  details?: string;
  operands?: readonly Operand[];
  flags?: Readonly<Record<string, Flag>>;
  examples: readonly string[];
  /** Reads the code of the command. Commands that call a service read nothing of the server. */
  load(): Promise<Run>;
}

export type Group = 'Server' | 'Setup' | 'Events' | 'Config' | 'A project as a file' | 'Tools';

/** The kinds of things whose name a user may give in place of the id. */
export type NamedKind = 'endpoint' | 'subscription' | 'source' | 'portal link';

export interface Operand {
  name: string;
  summary: string;
  /** It is the id or the name of one of these. */
  of?: NamedKind;
  optional?: boolean;
  many?: boolean;
}

export interface Flag {
  summary: string;
  /** The name of the value in the help. Absent: a switch. */
  value?: string;
  /** The values that are allowed. */
  oneOf?: readonly string[];
  /** Its value is the id or the name of one of these. */
  of?: NamedKind;
  /** May be given several times. */
  many?: boolean;
  short?: string;
}

/** Runs a command. The number is the exit code, 0 by default. */
export type Run = (given: Given) => Promise<number | void>;

export type Commands = Readonly<Record<string, Command>>;
export type Ungrouped = Omit<Command, 'group'>;

export function inGroup(group: Group, commands: Record<string, Ungrouped>): Commands {
  return Object.fromEntries(Object.entries(commands).map(([name, command]) => [name, { group, ...command }]));
}

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** The arguments that the user gave. */
export class Given {
  readonly operands: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly #values: Values;

  constructor(values: Values, operands: readonly string[], env: NodeJS.ProcessEnv) {
    this.#values = values;
    this.operands = operands;
    this.env = env;
  }

  text(flag: string): string | undefined {
    return this.texts(flag).at(-1);
  }

  texts(flag: string): string[] {
    return [this.#values[flag] ?? []].flat().map(String);
  }

  has(flag: string): boolean {
    return this.#values[flag] === true;
  }

  required(flag: string): string {
    const value = this.text(flag);
    if (value === undefined || value === '')
      throw usageError(`--${flag} is required; add --help to see how the command is used`);
    return value;
  }

  /** A whole number from 1 on. */
  count(flag: string): number | undefined {
    const value = this.text(flag);
    if (value === undefined) return undefined;
    if (!/^[1-9]\d{0,8}$/.test(value)) throw usageError(`--${flag} must be a whole number from 1 on`);
    return Number(value);
  }

  /** Values of some flags, and the operands, are replaced. */
  with(texts: Readonly<Record<string, string[]>>, operands: readonly string[]): Given {
    return new Given({ ...this.#values, ...texts }, operands, this.env);
  }

  operand(index = 0): string {
    return this.operands[index] ?? '';
  }

  /** The fields of a request whose flags were given, by the names of these. */
  fields<Name extends string>(flags: Readonly<Record<Name, string>>): Partial<Record<Name, string>> {
    const given = Object.entries<string>(flags).map(([name, flag]) => [name, this.text(flag)]);
    return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Partial<
      Record<Name, string>
    >;
  }

  /** As `fields`, for flags that may be given several times. */
  lists<Name extends string>(flags: Readonly<Record<Name, string>>): Partial<Record<Name, string[]>> {
    const given = Object.entries<string>(flags).map(([name, flag]) => [name, this.texts(flag)] as const);
    return Object.fromEntries(given.filter(([, values]) => values.length > 0)) as Partial<
      Record<Name, string[]>
    >;
  }
}

export function readArguments(
  name: string,
  command: Command,
  { args, env }: { args: string[]; env: NodeJS.ProcessEnv },
): Given {
  const { operands = [], flags = {} } = command;
  const options = Object.entries(flags).map(([flag, { value, many = false, short }]) => [
    flag,
    {
      type: value === undefined ? 'boolean' : 'string',
      multiple: many,
      ...(short !== undefined && { short }),
    },
  ]);
  try {
    const { values, positionals } = parseArgs({
      args,
      options: Object.fromEntries(options) as Record<string, { type: 'string' | 'boolean' }>,
      allowPositionals: operands.length > 0,
    });
    checkOperands(operands, positionals);
    const given = new Given(values, positionals, env);
    for (const [flag, { oneOf }] of Object.entries(flags)) checkValue(flag, oneOf, given.texts(flag));
    return given;
  } catch (error) {
    // parseArgs explains some errors in further sentences; the first is enough.
    const [problem = ''] = (error as Error).message.split('. ');
    const [, unknown] = /^Unknown option '--([^']+)'/.exec(problem) ?? [];
    const near = unknown === undefined ? null : nearestName(unknown, Object.keys(flags));
    if (near !== null) throw usageError(`${problem}; did you mean --${near}?`);
    throw usageError(`${problem.replace(/\.$/, '')}. Usage: posthorn ${usageOf(name, command)}`);
  }
}

function checkOperands(operands: readonly Operand[], given: readonly string[]): void {
  const missing = operands.find(({ optional }, index) => optional !== true && (given[index] ?? '') === '');
  if (missing !== undefined) throw new Error(`${missing.name} is missing`);
  if (given.length > operands.length && operands.at(-1)?.many !== true)
    throw new Error(`Unexpected argument '${given[operands.length]}'`);
}

function checkValue(flag: string, oneOf: readonly string[] | undefined, given: readonly string[]): void {
  const wrong = given.find((value) => oneOf !== undefined && !oneOf.includes(value));
  if (wrong !== undefined) throw new Error(`--${flag} must be one of ${oneOf?.join(', ')}, not '${wrong}'`);
}

/** The flags that every command of a service has. The usage names only the others. */
export const connectionFlags: Readonly<Record<string, Flag>> = {
  url: { value: 'URL', summary: 'Address of the service, instead of POSTHORN_URL or the profile.' },
  project: { value: 'ID|NAME', summary: 'The project, instead of POSTHORN_PROJECT or the profile.' },
  profile: { value: 'NAME', summary: 'The profile of posthorn login to use.' },
};

export const outputFlags: Readonly<Record<string, Flag>> = {
  output: {
    value: 'FORMAT',
    oneOf: ['table', 'json', 'yaml'],
    summary: 'How to print: table, json or yaml; table by default.',
    short: 'o',
  },
  quiet: { summary: 'Print only the ids, one a line.', short: 'q' },
};

/** Commands of the server have flags of the same name that are their own. */
export function isCommonFlag([name, flag]: [string, Flag]): boolean {
  return connectionFlags[name] === flag || outputFlags[name] === flag;
}

export function usageOf(name: string, { operands = [], flags = {} }: Command): string {
  const places = operands.map(({ name: place, optional, many }) => {
    const text = many === true ? `${place}...` : place;
    return optional === true ? `[${text}]` : text;
  });
  const options = Object.entries(flags)
    .filter((flag) => !isCommonFlag(flag))
    .map(([flag, { value }]) => (value === undefined ? `[--${flag}]` : `[--${flag} ${value}]`));
  const shown = options.length > 4 ? ['[FLAGS]'] : options;
  return [name, ...places, ...shown].join(' ');
}
