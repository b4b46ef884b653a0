import type { TObject } from 'typebox';

type Given<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined };

/**
 * The rule of every update, and of every new resource over its defaults: a named field gets the given value,
 * any other field keeps its value. Null means "not named": `dropNulls` has removed it from the body, except
 * where the schema declares it as a value. Values are replaced as a whole; nothing is merged into a stored
 * object. Only names of the schema count. A body may contain others, and a row has columns that no caller may
 * set.
 */
export function updated<Fields extends object>(known: Fields, schema: TObject, given: Given<Fields>): Fields {
  const after = { ...known };
  for (const name of Object.keys(schema.properties) as (keyof Fields)[]) {
    const value = given[name];
    if (name in known && value !== undefined) after[name] = value;
  }
  return after;
}
