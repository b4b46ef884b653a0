import { parseArgs } from 'node:util';
import { StartupError } from '../platform/startup-error.ts';
import { VERSION } from '../platform/version.ts';
import { type Config, readConfig } from '../settings/settings.ts';
import { backupCommand } from './backup.ts';
import { createKeyCommand } from './create-key.ts';
import { createProjectCommand } from './create-project.ts';
import { migrateCommand } from './migrate.ts';
import { resealCommand } from './reseal.ts';
import { restoreCommand } from './restore.ts';
import { serve } from './serve.ts';
import { upgradeCommand } from './upgrade.ts';

/** Options by name; a switch that was given is 'true'. */
type Values = Record<string, string | undefined>;

interface Command {
  usage: string;
  summary: string;
  options: Record<string, { type: 'string' | 'boolean' }>;
  /** The name of the one value that stands without an option. */
  operand?: string;
  run(config: Config, values: Values): Promise<void>;
}

const commands: Record<string, Command> = {
  serve: { usage: 'serve', summary: 'Runs the service until it is told to stop.', options: {}, run: serve },
  migrate: {
    usage: 'migrate',
    summary: 'Brings the database schema up to date.',
    options: {},
    run: migrateCommand,
  },
  reseal: {
    usage: 'reseal [--new-key]',
    summary:
      'Seals every stored secret again under the present secret key. --new-key first makes a new one in the data directory.',
    options: { 'new-key': { type: 'boolean' } },
    run: resealCommand,
  },
  backup: {
    usage: 'backup FILE|DIRECTORY [--with-keys]',
    summary:
      'Writes the whole database to a file while the service runs. The secret key is in it only with --with-keys.',
    options: { 'with-keys': { type: 'boolean' } },
    operand: 'file',
    run: backupCommand,
  },
  restore: {
    usage: 'restore FILE',
    summary: 'Makes the database of a new data directory (or an empty one at DATABASE_URL) from a backup.',
    options: {},
    operand: 'file',
    run: restoreCommand,
  },
  upgrade: {
    usage: 'upgrade --binaries DIRECTORY',
    summary: 'Moves the embedded database over from an older PostgreSQL, whose programs are in DIRECTORY.',
    options: { binaries: { type: 'string' } },
    run: upgradeCommand,
  },
  'project create': {
    usage: 'project create --name NAME [--type outgoing|incoming]',
    summary: 'Makes a project and prints it with its key as JSON.',
    options: { name: { type: 'string' }, type: { type: 'string' } },
    run: createProjectCommand,
  },
  'key create': {
    usage: 'key create --project ID --name NAME [--expires-at TIME]',
    summary: 'Makes a further key of a project and prints it as JSON.',
    options: { project: { type: 'string' }, name: { type: 'string' }, 'expires-at': { type: 'string' } },
    run: createKeyCommand,
  },
};

export async function runCommand(argv: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const [first = '', second = ''] = argv;
  if (['', 'help', '--help', '-h'].includes(first)) return print(helpText());
  if (first === '--version' || first === 'version') return print(`posthorn ${VERSION}`);
  const name = Object.hasOwn(commands, first) ? first : `${first} ${second}`.trim();
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined)
    throw new StartupError(`there is no command "${name}"; posthorn help lists them`);
  await command.run(readConfig(env), parse(command, argv.slice(name.split(' ').length)));
}

function parse(command: Command, args: string[]): Values {
  const { options, operand, usage } = command;
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: operand !== undefined });
    if (positionals.length > 1) throw new Error(`Unexpected argument '${positionals[1]}'`);
    const given = Object.entries(values).map(([name, value]) => [name, String(value)]);
    return Object.fromEntries(operand === undefined ? given : [...given, [operand, positionals[0]]]);
  } catch (error) {
    throw new StartupError(`${(error as Error).message}. Usage: posthorn ${usage}`);
  }
}

export function helpText(): string {
  const lines = Object.values(commands).map(({ usage, summary }) => `  posthorn ${usage}\n      ${summary}`);
  return [
    'Posthorn takes events in and delivers them as webhooks.',
    '',
    ...lines,
    '',
    'Settings are environment variables; docs/config.md lists them.',
  ].join('\n');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
