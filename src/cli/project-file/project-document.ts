import { ProjectConfig } from '../../domain/config/project-config.ts';
import { sourceCredentials } from '../../domain/config/source.ts';
import { endpointCredentials } from '../../domain/resources/endpoint-credentials.ts';
import { endpointFields } from '../../domain/resources/endpoint-fields.ts';
import { fileValues } from '../../domain/resources/fields.ts';
import { sourceFields } from '../../domain/resources/source-fields.ts';
import { subscriptionFields } from '../../domain/resources/subscription-fields.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { pathsOf, usualOf } from '../../platform/json/schema-marks.ts';
import { escapeControls, printable } from '../../platform/printable.ts';
import { usageError } from '../../platform/startup-error.ts';

/*
 * A project as a file. Every item has a key, which names it over projects and services. Items refer to each other by
 * key. A field that the file leaves out has its default; a secret that it leaves out keeps its stored value.
 */
export type Fields = Record<string, unknown>;

export interface Item extends Fields {
  key: string;
}

export interface Document {
  version: 1;
  settings: Fields;
  event_types: Item[];
  sources: Item[];
  endpoints: Item[];
  subscriptions: Item[];
}

export const kinds = ['event_types', 'sources', 'endpoints', 'subscriptions'] as const;
export type Kind = (typeof kinds)[number];
/** The key of an event type is its name. Items of the others store one. */
export type KeyedKind = Exclude<Kind, 'event_types'>;

export const ofEachKind = <T>(make: (kind: Kind) => T): Record<Kind, T> =>
  Object.fromEntries(kinds.map((kind) => [kind, make(kind)])) as Record<Kind, T>;

/** The name of each kind in a plan. */
export const singular: Record<Kind, string> = {
  event_types: 'event type',
  sources: 'source',
  endpoints: 'endpoint',
  subscriptions: 'subscription',
};

const { verifier, ...settings } = usualOf(sourceCredentials);

/** The fields of each kind with their defaults. Undefined: there is none, and the field is needed on creation. */
export const fieldsOf: Record<Kind, Readonly<Fields>> = {
  event_types: { category: '', description: '', json_schema: null, deprecated: false },
  sources: {
    ...fileValues(sourceFields),
    // A file of version 0.1.0 does not name it, and must not switch it on. Null: as it is stored.
    cloudevents: null,
    verifier,
    ...settings,
  },
  endpoints: {
    ...fileValues(endpointFields),
    ...usualOf(endpointCredentials),
    // The file names where they are.
    headers: '',
    status: '',
  },
  subscriptions: {
    ...fileValues(subscriptionFields),
    endpoint: undefined,
    source: '',
    event_types: ['*'],
    filter: {},
    filters: [],
  },
};

/** Fields that hold a credential, by their paths. */
export const secretPaths: Record<Kind | 'settings', readonly string[]> = {
  settings: pathsOf('credential', ProjectConfig.properties),
  event_types: [],
  subscriptions: [],
  sources: pathsOf('credential', sourceCredentials),
  endpoints: pathsOf('credential', endpointCredentials),
};

export function valueAt(item: Fields, path: string): unknown {
  return path.split('.').reduce<unknown>((value, part) => (value as Fields | null | undefined)?.[part], item);
}

/** The item with another value at a path. Undefined removes the field. Objects on the way that are missing stay so. */
export function withValue(item: Fields, path: string, value: unknown): Fields {
  const [first = '', ...rest] = path.split('.');
  if (rest.length === 0) {
    const { [first]: _old, ...others } = item;
    return value === undefined ? others : { ...others, [first]: value };
  }
  const inner = item[first];
  if (typeof inner !== 'object' || inner === null) return item;
  return { ...item, [first]: withValue(inner as Fields, rest.join('.'), value) };
}

/** Settings with the names of the variables alone: a service shows no value, and in a file an empty one stays as it is. */
export function withoutValues({ variables, ...settings }: Fields): Fields {
  const names = Object.keys(isObject(variables) ? variables : {});
  if (names.length === 0) return settings;
  return { ...settings, variables: Object.fromEntries(names.map((name) => [name, ''])) };
}

/** Reads the YAML of a file. Says everything that is wrong with it, and where. */
export async function parseDocument(text: string): Promise<Document> {
  const { parse } = await import('yaml');
  let given: unknown;
  try {
    given = parse(text);
  } catch (error) {
    const [problem] = (error as Error).message.split('\n');
    throw usageError(`the file is not YAML: ${problem}`);
  }
  if (!isObject(given) || given['version'] !== 1)
    throw usageError('the file must begin with "version: 1"; posthorn export writes one');
  const problems = Object.keys(given)
    .filter((name) => !['version', 'settings', ...kinds].includes(name))
    .map((name) => `the file has an unknown section ${JSON.stringify(name)}`);
  const settings = given['settings'] ?? {};
  if (!isObject(settings)) problems.push('settings must be an object');
  const read = {
    version: 1 as const,
    settings: settings as Fields,
    ...ofEachKind((kind) => itemsOf(kind, given[kind] ?? [], problems)),
  };
  problems.push(...referenceProblems(read));
  if (problems.length > 0) throw usageError(problems.join('\n'));
  return read;
}

function itemsOf(kind: Kind, given: unknown, problems: string[]): Item[] {
  if (!Array.isArray(given)) {
    problems.push(`${kind} must be a list`);
    return [];
  }
  const keys = new Set<string>();
  return given.flatMap((item: unknown, index) => {
    if (!isObject(item)) {
      problems.push(`item ${index + 1} of ${kind} is not an object`);
      return [];
    }
    const key = kind === 'event_types' ? (item['key'] ?? item['name']) : item['key'];
    if (typeof key !== 'string' || key === '') {
      problems.push(`item ${index + 1} of ${kind} has no key`);
      return [];
    }
    if (keys.has(key)) problems.push(`two ${kind} have the key ${key}; keys are unique per kind`);
    keys.add(key);
    const { name, ...rest } = item;
    const fields: Fields = kind === 'event_types' ? rest : { ...rest, name };
    problems.push(...fieldProblems(kind, fields).map((problem) => `${singular[kind]} ${key} ${problem}`));
    return [{ ...fields, key }];
  });
}

function fieldProblems(kind: Kind, fields: Fields): string[] {
  const known = ['key', ...Object.keys(fieldsOf[kind])];
  return [
    ...Object.keys(fields)
      .filter((field) => !known.includes(field))
      .map((field) => `has an unknown field ${JSON.stringify(field)}`),
    ...Object.entries(fieldsOf[kind])
      .filter(([field, usual]) => usual === undefined && fields[field] === undefined)
      .map(([field]) => `has no ${field}`),
  ];
}

function referenceProblems({ endpoints, sources, subscriptions }: Document): string[] {
  const has = (items: Item[], key: unknown) => items.some((item) => item.key === key);
  return subscriptions.flatMap(({ key, endpoint, source = '', event_types = ['*'], filters = [] }) => [
    ...(endpoint === undefined || has(endpoints, endpoint)
      ? []
      : [`subscription ${key} names an endpoint that is not in the file`]),
    ...(source === '' || has(sources, source)
      ? []
      : [`subscription ${key} names a source that is not in the file`]),
    ...(filters as Fields[])
      .filter(({ event_type }) => !(event_types as unknown[]).includes(event_type))
      .map(
        ({ event_type }) =>
          `subscription ${key} has a filter for ${String(event_type)}, which is not in event_types`,
      ),
  ]);
}

/** The text of a file: comments and keys first, fields in the order of the tables above, defaults left out. */
export async function documentText(document: Document, comments: readonly string[] = []): Promise<string> {
  const { stringify } = await import('yaml');
  const shown = ofEachKind((kind) => document[kind].map((item) => shownItem(kind, item)));
  const text = stringify({ version: 1, settings: document.settings, ...shown }, { lineWidth: 0 });
  // A line break in the name of a stranger would end the comment.
  return comments.map((comment) => `# ${printable(comment)}\n`).join('') + escapeControls(text);
}

function shownItem(kind: Kind, item: Item): Fields {
  const fields = Object.entries(fieldsOf[kind]).flatMap(([name, usual]) => {
    const value = item[name];
    return value === undefined || isSame(value, usual) ? [] : [[name, value]];
  });
  return { key: item.key, ...(Object.fromEntries(fields) as Fields) };
}

export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value ?? null;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
}
