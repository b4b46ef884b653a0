import { isIP } from 'node:net';
import { Secret } from '../platform/secret.ts';
import { BadValue } from './bad-value.ts';

/** The forms of values that settings have. */
export const text = (): ((value: string) => string) => (value) => value;

export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max)
      throw new BadValue(`a whole number from ${min} to ${max}`);
    return number;
  };

export const oneOf =
  <T extends string>(...values: T[]) =>
  (value: string): T => {
    if (!values.includes(value as T))
      throw new BadValue(`one of ${values.filter((name) => name !== '').join(', ')}`);
    return value as T;
  };

export const words = (value: string): string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

export const listOf =
  <T extends string>(...values: T[]) =>
  (value: string): T[] => {
    const list = words(value).map(oneOf(...values));
    if (list.length === 0) throw new BadValue(`at least one of ${values.join(', ')}`);
    return list;
  };

export const addressRanges = (value: string): string[] => {
  const list = words(value);
  if (!list.every(isAddressRange)) throw new BadValue('addresses or CIDR ranges, comma separated');
  return list;
};

function isAddressRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const bits = isIP(address) === 6 ? 128 : 32;
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  return isIP(address) !== 0 && isPrefix && rest.length === 0;
}

export const url =
  (...protocols: string[]) =>
  (value: string): string => {
    if (value === '') return value;
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new BadValue(`a URL starting with ${protocols.map((p) => `${p}//`).join(' or ')}`);
    return value.replace(/\/+$/, '');
  };

/** Null: none. A URL with a password must not be shown by accident. */
export const secretUrl =
  (...protocols: string[]) =>
  (value: string): Secret<string> | null =>
    value === '' ? null : new Secret(url(...protocols)(value));

export const share = (value: string): number => {
  const number = Number(value);
  if (!/^\d*\.?\d+$/.test(value) || number > 1) throw new BadValue('a number from 0 to 1');
  return number;
};

/** `name=value` pairs, comma separated, values percent-encoded. */
export const headerPairs = (value: string): [string, string][] =>
  words(value).map((pair) => {
    const [, name = '', encoded = ''] = /^([!#$%&'*+.^`|~\w-]+)\s*=\s*([\x21-\x7e]*)$/.exec(pair) ?? [];
    const decoded = percentDecoded(encoded);
    if (name === '' || decoded === null) throw new BadValue('name=value pairs, comma separated');
    return [name, decoded];
  });

function percentDecoded(encoded: string): string | null {
  try {
    const text = decodeURIComponent(encoded);
    return /^[\x20-\x7e]*$/.test(text) ? text : null;
  } catch {
    return null;
  }
}

export function secretKey(value: string): Secret<string> | null {
  if (value === '') return null;
  if (value.length < 32)
    throw new BadValue('at least 32 characters; generate one with: openssl rand -base64 32');
  return new Secret(value);
}
