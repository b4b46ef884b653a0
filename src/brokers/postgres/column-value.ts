/**
 * Values as JSON. Numbers that JavaScript would round (bigint, numeric) are texts, json and jsonb are as they were
 * written, times are ISO 8601, arrays of these types are arrays. Everything else is the text that PostgreSQL writes.
 */
type ToJson = (text: string) => string;

const text: ToJson = (value) => JSON.stringify(value);
/** NaN and Infinity are no JSON. */
const number: ToJson = (value) => (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value) ? value : text(value));
const boolean: ToJson = (value) => (value === 't' || value === 'true' ? 'true' : 'false');
const raw: ToJson = (value) => value;

/** `2026-01-31 12:00:00.123456+00`. Years of more or fewer digits, BC and infinity stay as they are. */
const time: ToJson = (value) =>
  text(
    /^\d{4}-\d\d-\d\d \d\d:/.test(value) && !value.endsWith('BC')
      ? value.replace(' ', 'T').replace(/\+00$/, 'Z')
      : value,
  );

/** Ids of built-in types are the same in every database. */
const SCALARS: Readonly<Record<number, ToJson>> = {
  16: boolean,
  21: number,
  23: number,
  26: number,
  700: number,
  701: number,
  114: raw,
  3802: raw,
  1114: time,
  1184: time,
};

/** Id of the array type -> id of its elements; 0: a text. */
const ARRAYS: Readonly<Record<number, number>> = {
  1000: 16,
  1005: 21,
  1007: 23,
  1028: 26,
  1021: 700,
  1022: 701,
  199: 114,
  3807: 3802,
  1115: 1114,
  1185: 1184,
  // text, varchar, char, name, bigint, numeric, uuid, date
  1009: 0,
  1015: 0,
  1002: 0,
  1003: 0,
  1016: 0,
  1231: 0,
  2951: 0,
  1182: 0,
};

export function valueToJson(value: string, typeId: number): string {
  const element = ARRAYS[typeId];
  if (element === undefined) return (SCALARS[typeId] ?? text)(value);
  return arrayToJson(value, SCALARS[element] ?? text) ?? text(value);
}

/** `{1,NULL,"a \"b\"",{…}}`, after bounds where they are not the usual ones: `[0:1]={…}`. Null: it is none. */
export function arrayToJson(array: string, element: ToJson): string | null {
  let at = array.startsWith('[') ? array.indexOf('=') + 1 : 0;
  const quoted = (): string => {
    let value = '';
    for (at += 1; array[at] !== '"' && at < array.length; at++) {
      if (array[at] === '\\') at += 1;
      value += array[at];
    }
    at += 1;
    return element(value);
  };
  const plain = (): string => {
    const from = at;
    while (at < array.length && array[at] !== ',' && array[at] !== '}') at += 1;
    const value = array.slice(from, at);
    return value.toUpperCase() === 'NULL' ? 'null' : element(value);
  };
  const list = (): string | null => {
    const items: string[] = [];
    for (at += 1; array[at] !== '}'; ) {
      if (at >= array.length) return null;
      const item = array[at] === '{' ? list() : array[at] === '"' ? quoted() : plain();
      if (item === null) return null;
      items.push(item);
      if (array[at] === ',') at += 1;
    }
    at += 1;
    return `[${items.join(',')}]`;
  };
  return array[at] === '{' ? list() : null;
}
