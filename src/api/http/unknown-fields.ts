import type { TSchema } from 'typebox';
import { nearestName, plainName } from '../../platform/nearest-name.ts';
import type { Schema } from './schema-view.ts';

/**
 * Unknown fields of a body: usually a typo, or a field in the wrong place. Clients send whole responses back,
 * so fields of the response's schema are known too. Compiled once per operation. A call costs one lookup per
 * field, and free-form values (payloads, headers, filters) are not searched.
 */
interface Known {
  /** Writable fields. Null: free-form, or a single value. */
  written: Map<string, Known | null>;
  /** Read-only fields, accepted without a warning. */
  read: ReadonlySet<string>;
  items: Known | null;
}

/** A field with its path in the schema, without the indexes of lists. */
interface Place {
  parent: string;
  name: string;
}

const MAX_NAMED = 20;
const MAX_NAME_CHARS = 64;

export function unknownFieldsOf(body: TSchema, answer: TSchema): (value: unknown) => string[] {
  const known = compile(body as Schema, [answer as Schema]);
  const places = known === null ? [] : placesIn(known, '');
  return (value) => {
    const found: { place: Place; at: string }[] = [];
    if (known !== null) walk(value, known, { at: '', parent: '', found });
    return found.map(({ place, at }) => describe(place, at, places));
  };
}

/** Says which of the names are unknown, each with the most similar known one. At most 20 are named. */
export function unknownNames(kind: string, given: readonly string[], known: ReadonlySet<string>): string[] {
  return given
    .filter((name) => !known.has(name))
    .slice(0, MAX_NAMED)
    .map((name) => {
      if (name.length > MAX_NAME_CHARS) return `unknown ${kind} ${name.slice(0, MAX_NAME_CHARS)}...`;
      const near = nearestName(name, [...known]);
      return near === null ? `unknown ${kind} ${name}` : `unknown ${kind} ${name}; did you mean ${near}?`;
    });
}

function compile(schema: Schema, answers: readonly Schema[]): Known | null {
  const branches = branchesOf(schema);
  if (branches.some(isFreeForm)) return null;
  const answered = answers.flatMap(branchesOf);
  const written = new Map<string, Known | null>();
  for (const [name, child] of branches.flatMap(({ properties }) => Object.entries(properties ?? {})))
    written.set(
      name,
      compile(
        child,
        answered.flatMap(({ properties }) => properties?.[name] ?? []),
      ),
    );
  const read = new Set(answered.flatMap(({ properties }) => Object.keys(properties ?? {})));
  const [items] = branches.flatMap((branch) => branch.items ?? []);
  const itemsKnown =
    items === undefined
      ? null
      : compile(
          items,
          answered.flatMap((one) => one.items ?? []),
        );
  return written.size === 0 && itemsKnown === null ? null : { written, read, items: itemsKnown };
}

const branchesOf = (schema: Schema): Schema[] => [schema, ...(schema.anyOf ?? []).flatMap(branchesOf)];

function isFreeForm(schema: Schema): boolean {
  return (
    schema.patternProperties !== undefined || (schema.type === 'object' && schema.properties === undefined)
  );
}

function placesIn(known: Known, parent: string): Place[] {
  const inItems = known.items === null ? [] : placesIn(known.items, parent);
  const own = [...known.written].flatMap(([name, child]) => [
    { parent, name },
    ...(child === null ? [] : placesIn(child, joined(parent, name))),
  ]);
  return [...own, ...inItems];
}

const joined = (parent: string, name: string | number): string =>
  parent === '' ? `${name}` : `${parent}.${name}`;

function walk(
  value: unknown,
  known: Known,
  here: { at: string; parent: string; found: { place: Place; at: string }[] },
): void {
  const { at, parent, found } = here;
  if (Array.isArray(value)) {
    if (known.items === null) return;
    for (const [index, item] of value.entries()) {
      if (found.length >= MAX_NAMED) return;
      walk(item, known.items, { at: joined(at, index), parent, found });
    }
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const fields = value as Record<string, unknown>;
  for (const name in fields) {
    if (found.length >= MAX_NAMED) return;
    const child = fields[name];
    const next = known.written.get(name);
    if (next === undefined) {
      // Clients in other languages send null for "not given".
      if (child !== null && !known.read.has(name)) found.push({ place: { parent, name }, at });
    } else if (next !== null)
      walk(child, next, { at: joined(at, name), parent: joined(parent, name), found });
  }
}

function describe(place: Place, at: string, places: readonly Place[]): string {
  const name = place.name.length <= MAX_NAME_CHARS ? place.name : `${place.name.slice(0, MAX_NAME_CHARS)}...`;
  const field = `unknown field ${joined(at, name)}`;
  if (place.name.length > MAX_NAME_CHARS) return field;
  const siblings = places.filter(({ parent }) => parent === place.parent);
  const sibling = nearestName(
    place.name,
    siblings.map((one) => one.name),
  );
  if (sibling !== null) return `${field}; did you mean ${joined(at, sibling)}?`;
  const [elsewhere] = places
    .filter((other) => plainName(other.name) === plainName(place.name))
    .toSorted((a, b) => shared(b.parent, place.parent) - shared(a.parent, place.parent));
  return elsewhere === undefined
    ? field
    : `${field}; did you mean ${joined(elsewhere.parent, elsewhere.name)}?`;
}

function shared(left: string, right: string): number {
  let length = 0;
  while (length < left.length && left[length] === right[length]) length += 1;
  return length;
}
