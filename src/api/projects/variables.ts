import type { Static } from 'typebox';
import { invalid } from '../../domain/errors.ts';
import { Type } from '../../platform/type.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { MASK } from '../http/portal-view.ts';

/** Variables that functions of a project read. Answers have their names, and a mask for each value. */
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const MAX_VARIABLES = 100;
const MAX_VALUE_CHARS = 4_096;
const MAX_CHARS = 32_768;

export const Variables = Type.Record(Type.String(), Type.String({ maxLength: MAX_VALUE_CHARS }), {
  description: `Values for [functions](functions.md#variables), by name. At most ${MAX_VARIABLES}. They are stored sealed and shown as \`${MASK}\`; written back, that keeps the value.`,
});

export function shownVariables({ variables }: Pick<ProjectRow, 'variables'>): Static<typeof Variables> {
  const names = Object.keys(variables.revealOrNull() ?? {});
  return Object.fromEntries(names.map((name) => [name, MASK]));
}

/** All variables as they will be. Undefined: none are named, so the stored ones stay. */
export function newVariables(
  known: ProjectRow['variables'] | undefined,
  given: Static<typeof Variables> | undefined,
): Record<string, string> | undefined {
  if (given === undefined) return undefined;
  const entries = Object.entries(given);
  if (entries.length > MAX_VARIABLES) throw invalid('variables', `may have at most ${MAX_VARIABLES} names`);
  const wrong = entries.find(([name]) => !NAME.test(name))?.[0];
  if (wrong !== undefined)
    throw invalid(
      'variables',
      `"${wrong.slice(0, 64)}" is no name: use a letter, then up to 63 letters, digits and "_"`,
    );
  const kept = entries.map(
    ([name, value]) => [name, value === MASK ? keptValue(known, name) : value] as const,
  );
  if (kept.flat().join('').length > MAX_CHARS)
    throw invalid('variables', `may have at most ${MAX_CHARS} characters together`);
  return Object.fromEntries(kept);
}

function keptValue(known: ProjectRow['variables'] | undefined, name: string): string {
  const stored = known?.reveal() ?? {};
  const value = Object.hasOwn(stored, name) ? stored[name] : undefined;
  if (value === undefined)
    throw invalid(`variables.${name}`, `has no value that "${MASK}" could keep; give one`);
  return value;
}
