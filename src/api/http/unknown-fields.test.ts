import { expect, test } from 'vitest';
import { Type } from '../../platform/type.ts';
import { unknownFieldsOf } from './unknown-fields.ts';

const Input = Type.Object({
  name: Type.String(),
  data: Type.Unknown(),
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  filter_config: Type.Optional(
    Type.Object({
      event_types: Type.Array(Type.String()),
      filter: Type.Optional(Type.Object({ body: Type.Record(Type.String(), Type.Unknown()) })),
    }),
  ),
  items: Type.Optional(Type.Array(Type.Object({ url: Type.String() }))),
  choice: Type.Optional(Type.Union([Type.Object({ a: Type.String() }), Type.Null()])),
});
const Answer = Type.Object({
  uid: Type.String(),
  name: Type.String(),
  filter_config: Type.Object({ filter: Type.Object({ is_flattened: Type.Boolean() }) }),
  endpoint_metadata: Type.Object({ uid: Type.String() }),
});
const unknown = unknownFieldsOf(Input, Answer);

test.each<[unknown, string[]]>([
  [{ name: 'x', data: { anything: 1 }, headers: { any: 'x' } }, []],
  [{ uid: 'x', endpoint_metadata: { more: 1 }, filter_config: { filter: { is_flattened: true } } }, []],
  [{ nmae: 'x' }, ['unknown field nmae; did you mean name?']],
  [
    { filter_config: { event_types: [], body: {} } },
    ['unknown field filter_config.body; did you mean filter_config.filter.body?'],
  ],
  [
    { filter_config: { eventTypes: [] }, eventTypes: [] },
    [
      'unknown field filter_config.eventTypes; did you mean filter_config.event_types?',
      'unknown field eventTypes; did you mean filter_config.event_types?',
    ],
  ],
  [{ filter_config: { filter: { body: { any: { thing: 1 } } } } }, []],
  [{ items: [{ url: 'x' }, { ulr: 'x' }] }, ['unknown field items.1.ulr; did you mean items.1.url?']],
  [
    { choice: { b: 1 }, zzzzzz: 1 },
    ['unknown field choice.b; did you mean choice.a?', 'unknown field zzzzzz'],
  ],
  [{ nothing: null }, []],
  [
    JSON.parse('{"__proto__": 1, "constructor": 1}'),
    ['unknown field __proto__', 'unknown field constructor'],
  ],
  ['text', []],
])('%j', (body, warnings) => {
  expect(unknown(body)).toEqual(warnings);
});

test('a body of very many unknown fields names the first twenty, and a long name is cut', () => {
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`unknown ${n}`, 1]));
  expect(unknown(many)).toHaveLength(20);
  expect(unknown({ ['x'.repeat(100_000)]: 1 })).toEqual([`unknown field ${'x'.repeat(64)}...`]);
});

test('the search ends with the twentieth unknown field', () => {
  const fields = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${n}`, n]));
  let reads = 0;
  const counted = new Proxy(fields, {
    get: (target, name) => {
      reads += 1;
      return target[name as string];
    },
  });
  expect(unknown(counted)).toHaveLength(20);
  expect(unknown({ items: [counted, counted] })).toHaveLength(20);
  expect(reads).toBe(40);
});
