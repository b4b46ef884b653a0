import { createContext } from 'react';
import { itemsOf } from './form-text.ts';

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
    problems.map((one, index) => {
      const input = placed[index] as HTMLInputElement;
      return [input.name, problemText(input, one)];
    }),
  );
}

/** The problems of the other inputs. */
export const withoutProblem = (
  problems: Readonly<Record<string, string>>,
  input: string,
): Readonly<Record<string, string>> =>
  Object.hasOwn(problems, input)
    ? Object.fromEntries(Object.entries(problems).filter(([name]) => name !== input))
    : problems;

/** A problem as its input shows it. One input may take a whole list, or settings as JSON. */
export function problemText({ name, value }: HTMLInputElement, { field, problem }: FieldProblem): string {
  const inner = field.slice(name.length + 1);
  if (inner === '' || !field.startsWith(name)) return problem;
  const item = /^\d+$/.test(inner) ? itemsOf(value)[Number(inner)] : undefined;
  return `${item ?? inner}: ${problem}`;
}
