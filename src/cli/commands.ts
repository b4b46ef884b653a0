import { type StartupError, usageError } from '../platform/startup-error.ts';
import { VERSION } from '../platform/version.ts';
import { projectFileCommands } from './project-file/commands.ts';
import { remoteCommands } from './remote/commands.ts';
import { serverCommands } from './server/commands.ts';
import { type Commands, readArguments } from './terminal/command.ts';
import { completionCommand } from './terminal/completion.ts';
import { commandHelp, helpText } from './terminal/help.ts';
import { nearestCommands } from './terminal/nearest-commands.ts';
import { onTerminal, type Terminal, terminal } from './terminal/terminal.ts';

/** The table of commands. Help, completion and docs/cli.md are made from it. */
export const commands: Commands = {
  ...serverCommands,
  ...remoteCommands,
  ...projectFileCommands,
  completion: {
    group: 'Tools',
    summary: 'Prints a script that completes commands in a shell.',
    operands: [{ name: 'SHELL', summary: 'bash, zsh or fish.' }],
    examples: ['source <(posthorn completion bash)', 'posthorn completion fish | source'],
    load: async () => completionCommand(commands),
  },
};

/** Runs a command on a terminal and returns its exit code. */
export const runCommand = (argv: string[], on: Terminal): Promise<number> =>
  onTerminal(on, () => run(argv, on));

async function run(argv: string[], { env }: Terminal): Promise<number> {
  const words = argv[0] === 'help' ? argv.slice(1) : argv;
  const isHelp = argv.length === 0 || argv[0] === 'help' || argv.includes('--help') || argv.includes('-h');
  if (words[0] === '--version' || words[0] === 'version') return print(`posthorn ${VERSION}`);
  const name = commandIn(words);
  if (isHelp) return print(helpFor(words, name));
  const command = name === undefined ? undefined : commands[name];
  if (name === undefined || command === undefined) throw unknownCommand(words);
  const args = words.slice(wordsOf(name, words));
  stopWithNpx(env);
  const work = await command.load();
  return (await work(readArguments(name, command, { args, env }))) ?? 0;
}

/** The longest name that the words begin with. A kind of resource alone lists it. */
function commandIn(words: readonly string[]): string | undefined {
  const [first = '', second = ''] = words;
  const names = [
    `${first} ${second}`,
    first,
    ...(second === '' || second.startsWith('-') ? [`${first} list`] : []),
  ];
  return names.find((name) => Object.hasOwn(commands, name));
}

function wordsOf(name: string, words: readonly string[]): number {
  const parts = name.split(' ');
  return parts.every((part, index) => words[index] === part) ? parts.length : 1;
}

function helpFor(words: readonly string[], name: string | undefined): string {
  const [first = '', second = ''] = words;
  const isKind = Object.keys(commands).some((one) => one.startsWith(`${first} `));
  if (isKind && (second === '' || second.startsWith('-'))) return helpText(commands, first);
  const command = name === undefined ? undefined : commands[name];
  if (name !== undefined && command !== undefined) return commandHelp(name, command);
  if (first !== '' && !first.startsWith('-')) throw unknownCommand(words);
  return helpText(commands);
}

function unknownCommand(words: readonly string[]): StartupError {
  const shown = words.filter((word) => !word.startsWith('-')).slice(0, 2);
  const [first = ''] = shown;
  const verbs = Object.keys(commands).flatMap((name) =>
    name.startsWith(`${first} `) ? name.slice(first.length + 1) : [],
  );
  const unknown = verbs.length > 0 ? shown.join(' ') : first;
  const problem =
    unknown === first && verbs.length > 0
      ? `"${first}" alone is no command`
      : `there is no command "${unknown}"`;
  const near = nearestCommands(commands, shown);
  if (near.length > 0)
    return usageError(`${problem}; did you mean ${near.map((name) => `posthorn ${name}`).join(' or ')}?`);
  const advice = verbs.length > 0 ? `"${first}" has: ${verbs.join(', ')}` : 'posthorn help lists them';
  return usageError(`${problem}; ${advice}`);
}

function print(text: string): number {
  terminal().stdout.write(`${text}\n`);
  return 0;
}

const PARENT_CHECK_MS = 500;

/**
 * npx runs a command through `sh -c`, and passes SIGTERM on to that shell only. A dash ends and passes on nothing, so the
 * command would go on without a parent. It takes the end of its parent for the signal. A bash becomes the command itself
 * and gets the signal.
 */
function stopWithNpx(env: NodeJS.ProcessEnv): void {
  const isOfNpx =
    env['npm_lifecycle_event'] === 'npx' && /\bposthorn\b/.test(env['npm_lifecycle_script'] ?? '');
  if (!isOfNpx) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, PARENT_CHECK_MS).unref();
}
