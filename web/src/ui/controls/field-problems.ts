import { createContext } from 'react';

export interface FieldProblem {
  /** The name of the input, of a group of them (`card` for `card.number` too), or of a part of its value. */
  field: string;
  problem: string;
}

/** The problems of the fields of a form, by the names of their inputs. */
export const FieldProblems = createContext<Readonly<Record<string, string>>>({});

/**
 * The problems by the names of the inputs that show them. The first of these gets the focus. Undefined if there is none,
 * or one that no input shows: the form says them all in one place then.
 */
export function placeProblems(
  form: HTMLFormElement,
  problems: readonly FieldProblem[],
): Readonly<Record<string, string>> | undefined {
  const inputs = [...form.elements].filter(
    (one): one is HTMLInputElement => 'name' in one && one.name !== '',
  );
  const placed = problems.map(
    ({ field }) =>
      inputs.find(({ name }) => name === field) ??
      inputs.find(({ name }) => name.startsWith(`${field}.`) || field.startsWith(`${name}.`)),
  );
  if (placed.length === 0 || placed.includes(undefined)) return undefined;
  // An input in a folded part cannot take the focus.
  for (const input of placed) input?.closest('details')?.setAttribute('open', '');
  placed[0]?.focus();
  return Object.fromEntries(
    problems.map(({ field, problem }, index) => {
      const name = placed[index]?.name ?? '';
      // One input may take a whole list, or settings as JSON.
      const inner = field.slice(name.length + 1);
      return [name, inner === '' || !field.startsWith(name) ? problem : `${inner}: ${problem}`];
    }),
  );
}
