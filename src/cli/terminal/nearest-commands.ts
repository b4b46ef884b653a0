import { nearestName, plainName } from '../../platform/nearest-name.ts';
import type { Commands } from './command.ts';

/** A verb that more kinds have says too little to guess by. */
const MOST = 3;

/** The commands that unknown words may mean, by the whole path: `send-now` is `deliveries send-now`. */
export function nearestCommands(commands: Commands, [first = '', second = '']: readonly string[]): string[] {
  const paths = Object.keys(commands).map((name) => name.split(' '));
  const kinds = paths.map(([kind = '']) => kind);
  const kind = kinds.includes(first) ? first : nearestName(first, [...new Set(kinds)]);
  const verbs = paths.flatMap(([of, verb]) => (of === kind && verb !== undefined ? [verb] : []));
  const verb = second === '' ? null : nearestName(second, verbs);
  if (kind !== null && verb !== null) return [`${kind} ${verb}`];
  for (const word of [second, first]) {
    const ending = paths.filter((path) => word !== '' && plainName(path.at(-1) ?? '') === plainName(word));
    if (ending.length > 0) return ending.length > MOST ? [] : ending.map((path) => path.join(' '));
  }
  return kind === null || kind === first ? [] : [kind];
}
