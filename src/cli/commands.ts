import { parseArgs } from 'node:util';
import { type Config, readConfig } from '../config.ts';
import { StartupError } from '../domain/startup-error.ts';
import { VERSION } from '../domain/version.ts';
import { createKeyCommand } from './create-key.ts';
import { createProjectCommand } from './create-project.ts';
import { migrateCommand } from './migrate.ts';
import { resealCommand } from './reseal.ts';
import { serve } from './serve.ts';

/** Options are texts; the one that is a switch is read by its command alone. */
type Values = Record<string, string | undefined>;

interface Command {
  usage: string;
  summary: string;
  options: Record<string, { type: 'string' | 'boolean' }>;
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
  try {
    return parseArgs({ args, options: command.options, strict: true }).values as Values;
  } catch (error) {
    throw new StartupError(`${(error as Error).message}. Usage: posthorn ${command.usage}`);
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
