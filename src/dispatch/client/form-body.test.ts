import { assert, dictionary, jsonValue, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formBody } from './form-body.ts';

function form(json: string): string | null {
  const result = formBody(Buffer.from(json));
  return result.kind === 'form' ? result.body.toString() : null;
}

describe('a form body', () => {
  test.each([
    ['{}', ''],
    ['{"b":"x y","a":"1&2=3"}', 'a=1%262%3D3&b=x+y'],
    [
      '{"n":12.50,"big":12345678901234567890,"exp":1e3,"neg":-0}',
      'big=12345678901234567890&exp=1e3&n=12.50&neg=-0',
    ],
    ['{"t":true,"f":false,"z":null,"e":""}', 'e=&f=false&t=true&z='],
    [
      '{"o":{"2":1.0,"1":"}"},"l":[1,[2,"]"],{}]}',
      'l=%5B1%2C%5B2%2C%22%5D%22%5D%2C%7B%7D%5D&o=%7B%222%22%3A1.0%2C%221%22%3A%22%7D%22%7D',
    ],
    ['{"a":"first","a":"last"}', 'a=last'],
    ['{"ü\\u0041":"\\u00e9\\n\\"\\\\"}', '%C3%BCA=%C3%A9%0A%22%5C'],
    ['{"__proto__":"x","":"empty"}', '=empty&__proto__=x'],
    [' { "a" : 1 , "b" : [ 1, 2 ] } ', 'a=1&b=%5B+1%2C+2+%5D'],
    ['{"\u{1F600}":1,"\uFFFD":2}', '%EF%BF%BD=2&%F0%9F%98%80=1'],
  ])('of %s is %s', (json, expected) => {
    expect(form(json)).toBe(expected);
  });

  test.each(['[]', '1', '"a"', 'null', 'true', '', '{', '{"a":1}x', 'nonsense'])(
    'of %j does not exist',
    (json) => {
      expect(form(json)).toBeNull();
    },
  );

  test('parses back to every field of any object', () => {
    assert(
      property(dictionary(string(), jsonValue()), (object) => {
        const read = new URLSearchParams(form(JSON.stringify(object))!);
        for (const [key, value] of Object.entries(object)) {
          const text = typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value);
          expect(read.get(key.toWellFormed())).toBe(text.toWellFormed());
        }
        expect([...read.keys()]).toHaveLength(Object.keys(object).length);
      }),
    );
  });

  test('of a megabyte of nesting does not overflow the stack', () => {
    const deep = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    expect(form(deep)).toHaveLength(2 + 400_000 * 3);
  });
});
