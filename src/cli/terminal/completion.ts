import { usageError } from '../../platform/startup-error.ts';
import { type Command, type Commands, type Given } from './command.ts';
import { terminal } from './terminal.ts';

/*
 * Completion scripts for bash, zsh and fish, made from the table of commands. They complete the words of a command,
 * its flags, and the values of flags that have a list. Files are completed after any other word.
 */
export function completionOf(shell: string, commands: Commands): string {
  const entries = Object.entries(commands);
  if (shell === 'fish') return fish(entries);
  return shell === 'zsh' ? zsh(entries) : bash(entries);
}

type Entry = [string, Command];

const flagsOf = ({ flags = {} }: Command): string[] => [
  ...Object.keys(flags).map((flag) => `--${flag}`),
  '--help',
];

/** The words that may follow a beginning: '' -> endpoints, events...; 'endpoints' -> list, get... */
function nextWords(entries: Entry[]): Map<string, string[]> {
  const words = new Map<string, Set<string>>();
  for (const [name] of entries) {
    const parts = name.split(' ');
    parts.forEach((part, index) => {
      const before = parts.slice(0, index).join(' ');
      words.set(before, (words.get(before) ?? new Set()).add(part));
    });
  }
  return new Map([...words].map(([before, set]) => [before, [...set].sort()]));
}

function choices(entries: Entry[]): [string, string][] {
  const found = new Map<string, string>();
  for (const [, { flags = {} }] of entries)
    for (const [flag, { oneOf }] of Object.entries(flags))
      if (oneOf !== undefined) found.set(`--${flag}`, oneOf.join(' '));
  return [...found];
}

function bash(entries: Entry[]): string {
  const words = [...nextWords(entries)].map(
    ([before, next]) => `    '${before}') words='${next.join(' ')}' ;;`,
  );
  const flags = entries.map(([name, command]) => `    '${name}') words='${flagsOf(command).join(' ')}' ;;`);
  const values = choices(entries).map(
    ([flag, list]) => `    ${flag}) COMPREPLY=($(compgen -W '${list}' -- "$word")); return ;;`,
  );
  return `# bash completion of posthorn: source <(posthorn completion bash)
_posthorn() {
  local word=\${COMP_WORDS[COMP_CWORD]} last=\${COMP_WORDS[COMP_CWORD-1]} name='' words='' part
  case $last in
${values.join('\n')}
  esac
  for part in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $part in -*) break ;; esac
    [ \${#name} -gt 0 ] && name="$name $part" || name=$part
  done
  if [[ $word == -* ]]; then
    while :; do
      case $name in
${flags.map((line) => `    ${line}`).join('\n')}
      esac
      [[ -n $words || $name != *' '* ]] && break
      name=\${name% *}
    done
  else
    case $name in
${words.join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _posthorn posthorn
`;
}

/** zsh runs completions of bash. */
function zsh(entries: Entry[]): string {
  return `#compdef posthorn
# zsh completion of posthorn: source <(posthorn completion zsh)
autoload -U +X bashcompinit && bashcompinit
${bash(entries)}`;
}

function fish(entries: Entry[]): string {
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const summaries = new Map(entries.map(([name, { summary }]) => [name, summary]));
  const seen = (parts: string[]) => parts.map((part) => `__fish_seen_subcommand_from ${part}`).join('; and ');
  const words = [...nextWords(entries)].flatMap(([before, next]) => {
    const isHere =
      before === ''
        ? '__fish_use_subcommand'
        : `${seen(before.split(' '))}; and not __fish_seen_subcommand_from ${next.join(' ')}`;
    return next.map((word) => {
      const summary = summaries.get(`${before} ${word}`.trim()) ?? '';
      return `complete -c posthorn -n ${quote(isHere)} -f -a ${word} -d ${quote(summary)}`;
    });
  });
  const flags = entries.flatMap(([name, { flags: of = {} }]) =>
    Object.entries(of).map(([flag, { value, oneOf = [], summary }]) => {
      const list = oneOf.length === 0 ? ' -r' : ` -x -a ${quote(oneOf.join(' '))}`;
      const takes = value === undefined ? '' : list;
      return `complete -c posthorn -n ${quote(seen(name.split(' ')))} -l ${flag}${takes} -d ${quote(summary)}`;
    }),
  );
  return `# fish completion of posthorn: posthorn completion fish | source\n${[...words, ...flags].join('\n')}\n`;
}

export function completionCommand(commands: Commands): (given: Given) => Promise<void> {
  return async (given) => {
    if (!['bash', 'zsh', 'fish'].includes(given.operand()))
      throw usageError(`there is no completion for ${given.operand()}; name bash, zsh or fish`);
    terminal().stdout.write(completionOf(given.operand(), commands));
  };
}
