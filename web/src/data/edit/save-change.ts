/*
 * An edit that overwrites no work of others. Only fields that were changed are sent, on the version at which they were read:
 *
 *   read -> a field is no longer as the form showed it -> ask which value stays -> read
 *        -> all are as the form showed them            -> send on the version
 *   send -> made
 *        -> 412: something of the project has changed meanwhile, also by the service itself -> read
 */
import { type CallOptions, PosthornError } from 'posthorn-client';
import { valueAt } from '../field-paths.ts';

/** A resource that a form edits: `T` as it is stored, `C` as a change names its fields. */
export interface Edited<T extends object, C extends object> {
  /** As the form shows it. */
  stored: T;
  /** The version of the project's config. It is read before the resource, so it is never too new. */
  version(): Promise<number>;
  read(): Promise<T>;
  write(change: Partial<C>, options: CallOptions): Promise<T>;
  /** The fields under the names of a change, where those of the resource are others. */
  fieldsOf?(of: T | Partial<C>): object;
}

/** A resource that has its calls by its id. */
export const editedOf = <T extends { uid: string }, C extends object>(
  api: { configVersion(): Promise<number> },
  calls: { get(id: string): Promise<T>; update(id: string, change: C, options: CallOptions): Promise<T> },
  stored: T,
): Edited<T, C> => ({
  stored,
  version: () => api.configVersion(),
  read: () => calls.get(stored.uid),
  // Every field of a change may be left out.
  write: (change, options) => calls.update(stored.uid, change as C, options),
});

/** A field that two have changed. */
export interface Clash {
  name: string;
  mine: unknown;
  theirs: unknown;
}

export interface Edit<T extends object, C extends object> {
  /** All fields of the form as it was opened. Undefined: they were no valid change. */
  first: C | undefined;
  /** All fields of the form as it is sent. What the form does not show is taken from the stored one. */
  changeOf(stored: T): C;
  /** The names of the fields that stay as the others left them. Rejects if the reader does not decide. */
  choose(clashes: readonly Clash[]): Promise<ReadonlySet<string>>;
}

/** A project under load changes often by itself. */
const MOST_TRIES = 10;

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The names of the fields that the reader has changed. A field whose choices came late shows the stored value. */
export function changedNames<T extends object, C extends object>(
  { stored, fieldsOf = (of) => of }: Edited<T, C>,
  { first, changeOf }: Edit<T, C>,
): string[] {
  const [was, is, known] = [first ?? {}, changeOf(stored), fieldsOf(stored)];
  return Object.entries(is)
    .filter(([name, value]) => !isSame(value, (was as Record<string, unknown>)[name]))
    .map(([name]) => name)
    .filter((name) => !isSame((fieldsOf(is) as Record<string, unknown>)[name], valueAt(known, name)));
}

/** Saves what was changed. The result is the resource as it is stored then. */
export async function saveChange<T extends object, C extends object>(
  edited: Edited<T, C>,
  edit: Edit<T, C>,
): Promise<T> {
  const { version, read, write, fieldsOf = (of) => of } = edited;
  let names = changedNames(edited, edit);
  let shown = edited.stored;
  for (let tries = 1; names.length > 0; tries += 1) {
    const configVersion = await version();
    const now = await read();
    const change = pick(edit.changeOf(now), names);
    const [before, after, mine] = [fieldsOf(shown), fieldsOf(now), fieldsOf(change)];
    const clashes = names
      .map((name) => ({
        name,
        mine: (mine as Record<string, unknown>)[name],
        theirs: valueAt(after, name),
      }))
      .filter(({ name, mine, theirs }) => !isSame(theirs, valueAt(before, name)) && !isSame(theirs, mine));
    shown = now;
    if (clashes.length > 0) {
      const theirs = await edit.choose(clashes);
      names = names.filter((name) => !theirs.has(name));
      continue;
    }
    try {
      return await write(change, { configVersion });
    } catch (error) {
      if (!isOutdated(error) || tries >= MOST_TRIES) throw error;
    }
  }
  return shown;
}

const isOutdated = (error: unknown): boolean =>
  error instanceof PosthornError && error.code === 'config_changed';

const pick = <C extends object>(change: C, names: readonly string[]): Partial<C> =>
  Object.fromEntries(Object.entries(change).filter(([name]) => names.includes(name))) as Partial<C>;
