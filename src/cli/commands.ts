import { parseArgs } from 'node:util';
import { StartupError } from '../platform/startup-error.ts';
import { VERSION } from '../platform/version.ts';
import { type Config, readConfig } from '../settings/settings.ts';
import { backupCommand } from './backup.ts';
import { createKeyCommand } from './create-key.ts';
import { createProjectCommand } from './create-project.ts';
import { migrateCommand } from './migrate.ts';
import { createPersonCommand, resetPersonCommand, signInLinkCommand } from './person.ts';
import { resealCommand } from './reseal.ts';
import { restoreCommand } from './restore.ts';
import { serve } from './serve.ts';
import { upgradeCommand } from './upgrade.ts';

/** Options by name. A switch that is set is 'true'. */
type Values = Record<string, string | undefined>;

interface Command {
  usage: string;
  summary: string;
  options: Record<string, { type: 'string' | 'boolean' }>;
  /** The name of the one positional argument. */
  operand?: string;
  run(config: Config, values: Values): Promise<void>;
}

const commands: Record<string, Command> = {
  serve: { usage: 'serve', summary: 'Runs the service until SIGINT or SIGTERM.', options: {}, run: serve },
  migrate: {
    usage: 'migrate',
    summary: 'Migrates the database schema to the newest version.',
    options: {},
    run: migrateCommand,
  },
  reseal: {
    usage: 'reseal [--new-key]',
    summary:
      'Reseals every stored secret with the current secret key. --new-key first creates a new key in the data directory.',
    options: { 'new-key': { type: 'boolean' } },
    run: resealCommand,
  },
  backup: {
    usage: 'backup FILE|DIRECTORY [--with-keys]',
    summary:
      'Writes the whole database to a file while the service runs. Only --with-keys includes the secret key.',
    options: { 'with-keys': { type: 'boolean' } },
    operand: 'file',
    run: backupCommand,
  },
  restore: {
    usage: 'restore FILE',
    summary: 'Restores a backup into a new data directory, or into an empty database at DATABASE_URL.',
    options: {},
    operand: 'file',
    run: restoreCommand,
  },
  upgrade: {
    usage: 'upgrade --binaries DIRECTORY',
    summary:
      'Upgrades the embedded database from an older PostgreSQL. DIRECTORY has the programs of the old version.',
    options: { binaries: { type: 'string' } },
    run: upgradeCommand,
  },
  'project create': {
    usage: 'project create --name NAME [--type outgoing|incoming]',
    summary: 'Creates a project and prints it with its key as JSON.',
    options: { name: { type: 'string' }, type: { type: 'string' } },
    run: createProjectCommand,
  },
  'key create': {
    usage: 'key create --project ID --name NAME [--expires-at TIME]',
    summary: 'Creates another key of a project and prints it as JSON.',
    options: { project: { type: 'string' }, name: { type: 'string' }, 'expires-at': { type: 'string' } },
    run: createKeyCommand,
  },
  'person create': {
    usage: 'person create --email EMAIL [--role admin|developer|viewer --project ID] [--name NAME]',
    summary:
      'Gives a person a role in a project, or without --project the administration of the instance. Prints an invitation link.',
    options: {
      email: { type: 'string' },
      name: { type: 'string' },
      role: { type: 'string' },
      project: { type: 'string' },
    },
    run: createPersonCommand,
  },
  'person reset': {
    usage: 'person reset --email EMAIL [--second-factor]',
    summary:
      'Prints a link with which a person chooses a new password, within an hour. --second-factor also removes the second factor.',
    options: { email: { type: 'string' }, 'second-factor': { type: 'boolean' } },
    run: resetPersonCommand,
  },
  'sign-in-link': {
    usage: 'sign-in-link [--email EMAIL]',
    summary:
      'Prints a link that signs a person in once, within 15 minutes. Without --email: the first administrator of the instance.',
    options: { email: { type: 'string' } },
    run: signInLinkCommand,
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
