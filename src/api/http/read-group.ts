import type { Static, TObject, TSchema } from 'typebox';
import { invalid } from '../../domain/errors.ts';
import { marksOf } from '../../platform/json/schema-marks.ts';

/** A group of settings as a request gives it, completed and checked by its table. Null: an empty object removes it. */
export function readGroup<T extends TObject>(
  { properties }: T,
  given: Partial<Static<T>> | undefined,
  path: string,
): Static<T> | null | undefined {
  if (given === undefined || Object.keys(given).length === 0) return given && null;
  const values = given as Readonly<Record<string, unknown>>;
  const read = Object.entries<TSchema>(properties).map(([name, part]) => {
    const { usual, check } = marksOf(part);
    const value = values[name] ?? usual;
    const problem = value === undefined ? 'is required' : check?.(value as never);
    if (problem !== undefined) throw invalid(`${path}.${name}`, problem);
    return [name, value];
  });
  return Object.fromEntries(read) as Static<T>;
}
