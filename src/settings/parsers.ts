import { isIP } from 'node:net';
import { readPostgresUrl } from '../platform/postgres-url.ts';
import { Secret } from '../platform/secret.ts';

/** Says what was expected of a setting. */
export class BadValue extends Error {}

/** A form of values that settings have. `allowed` ends the error for any other value, and is in docs/config.md. */
export interface Parser<T> {
  (value: string): T;
  readonly allowed: string;
}

/** `read` gives undefined for a value that is not allowed. */
function parser<T>(allowed: string, read: (value: string) => T | undefined): Parser<T> {
  const parse = (value: string): T => {
    const parsed = read(value);
    if (parsed === undefined) throw new BadValue(allowed);
    return parsed;
  };
  return Object.assign(parse, { allowed });
}

export const text = (): Parser<string> => parser('', (value) => value);

export const integer = (min: number, max: number): Parser<number> =>
  parser(`a whole number from ${min} to ${max}`, (value) => {
    const number = Number(value);
    return /^\d+$/.test(value) && number >= min && number <= max ? number : undefined;
  });

export const oneOf = <T extends string>(...values: T[]): Parser<T> =>
  parser(`one of ${values.filter((name) => name !== '').join(', ')}`, (value) =>
    values.find((name) => name === value),
  );

/** An empty value is 0: the default is computed. */
export const optional = (parse: Parser<number>): Parser<number> =>
  Object.assign((value: string) => (value === '' ? 0 : parse(value)), { allowed: parse.allowed });

export const words = (value: string): string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

export const cellNames: Parser<string[]> = parser('names of cells, comma separated', (value) => {
  const list = words(value);
  return list.every((name) => /^[\w.-]+$/.test(name)) ? list : undefined;
});

export const listOf = <T extends string>(...values: T[]): Parser<T[]> => {
  const one = oneOf(...values);
  return parser(`at least one of ${values.join(', ')}`, (value) => {
    const list = words(value).map(one);
    return list.length === 0 ? undefined : list;
  });
};

/** None too. */
export const anyOf = <T extends string>(...values: T[]): Parser<T[]> => {
  const one = oneOf(...values);
  return parser(`some of ${values.join(', ')}`, (value) => words(value).map(one));
};

export const addressRanges: Parser<string[]> = parser(
  'addresses or CIDR ranges, comma separated',
  (value) => {
    const list = words(value);
    return list.every(isAddressRange) ? list : undefined;
  },
);

function isAddressRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const bits = isIP(address) === 6 ? 128 : 32;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  return isIP(address) !== 0 && isPrefix && rest.length === 0;
}

export const url = (...protocols: string[]): Parser<string> =>
  parser(`a URL starting with ${protocols.map((p) => `${p}//`).join(' or ')}`, (value) => {
    if (value === '') return value;
    const isAllowed = URL.canParse(value) && protocols.includes(new URL(value).protocol);
    return isAllowed ? value.replace(/\/+$/, '') : undefined;
  });

/** Null: none. A URL with a password must not be shown by accident. */
export const secretUrl = (...protocols: string[]): Parser<Secret<string> | null> => {
  const plain = url(...protocols);
  return parser(plain.allowed, (value) => (value === '' ? null : new Secret(plain(value))));
};

/** Null: none. It may name several servers. `targets`: the values of target_session_attrs that fit its use. */
export const postgresUrl = (...targets: string[]): Parser<Secret<string> | null> => {
  const one = secretUrl('postgres:', 'postgresql:');
  return parser(one.allowed, (value) => {
    if (value === '') return null;
    const read = readPostgresUrl(value);
    if (typeof read === 'string') throw new BadValue(read);
    if (read.target !== '' && !targets.includes(read.target))
      throw new BadValue(`target_session_attrs to be one of ${targets.join(', ')}`);
    return read.servers.length === 1 ? one(value) : new Secret(value);
  });
};

export const share: Parser<number> = parser('a number from 0 to 1', (value) => {
  const number = Number(value);
  return /^\d*\.?\d+$/.test(value) && number <= 1 ? number : undefined;
});

/** `name=value` pairs, comma separated, values percent-encoded. */
export const headerPairs: Parser<[string, string][]> = parser(
  'name=value pairs, comma separated',
  (value) => {
    const pairs = words(value).map(headerPair);
    return pairs.every((pair) => pair !== null) ? pairs : undefined;
  },
);

function headerPair(pair: string): [string, string] | null {
  const [, name = '', encoded = ''] = /^([!#$%&'*+.^`|~\w-]+)\s*=\s*([\x21-\x7e]*)$/.exec(pair) ?? [];
  const decoded = percentDecoded(encoded);
  return name === '' || decoded === null ? null : [name, decoded];
}

function percentDecoded(encoded: string): string | null {
  try {
    const text = decodeURIComponent(encoded);
    return /^[\x20-\x7e]*$/.test(text) ? text : null;
  } catch {
    return null;
  }
}

export const secretKey: Parser<Secret<string> | null> = parser(
  'at least 32 characters; generate one with: openssl rand -base64 32',
  (value) => {
    if (value === '') return null;
    return value.length < 32 ? undefined : new Secret(value);
  },
);
