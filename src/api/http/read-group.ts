import type { Static, TObject, TSchema } from 'typebox';
import { invalid } from '../../domain/errors.ts';
import { marksOf } from '../../platform/json/schema-marks.ts';

export const IS_REQUIRED = 'is required';

type Add = (field: string, problem: string) => void;

const refuse: Add = (field, problem) => {
  throw invalid(field, problem);
};

/** A group of settings as a request gives it, completed and checked by its table. Null: an empty object removes it. */
export function readGroup<T extends TObject>(
  table: T,
  given: Partial<Static<T>> | undefined,
  path: string,
): Static<T> | null | undefined {
  if (given === undefined || Object.keys(given).length === 0) return given && null;
  return readFields(table, given, { path, add: refuse });
}

/** The fields of a table. Problems are named where they are, and the fields read all the same. */
export function readFields<T extends TObject>(
  { properties }: T,
  given: Partial<Static<T>>,
  { path, add }: { path: string; add: Add },
): Static<T> {
  const values = given as Readonly<Record<string, unknown>>;
  const read = Object.entries<TSchema>(properties).map(([name, field]) => {
    const { usual, check, isRequired } = marksOf(field);
    const value = values[name] ?? usual;
    const isMissing = value === undefined || (isRequired && value === '');
    const problem = isMissing ? IS_REQUIRED : check?.(value as never);
    if (problem !== undefined) add(`${path}.${name}`, problem);
    return [name, value];
  });
  return Object.fromEntries(read) as Static<T>;
}
