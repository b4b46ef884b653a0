import { expect, it } from 'vitest';
import { exampleOf } from './example.ts';

it.each([
  [{ type: 'object', examples: [{ a: 1 }], properties: {} }, { a: 1 }],
  [
    {
      type: 'object',
      properties: {
        id: { type: 'integer' },
        at: { type: 'string', format: 'date-time' },
        tags: { type: 'array', items: { enum: ['new'] } },
        note: { type: ['string', 'null'] },
        paid: { type: 'boolean' },
        unknown: {},
      },
    },
    { id: 1, at: '2026-01-31T12:00:00Z', tags: ['new'], note: 'text', paid: true, unknown: null },
  ],
  [{ oneOf: [{ const: 'a' }, { const: 'b' }] }, 'a'],
  [null, undefined],
])('the example of %j', (schema, example) => {
  expect(exampleOf(schema)).toEqual(example);
});

it('an endless schema ends', () => {
  const endless: Record<string, unknown> = { type: 'object', properties: {} };
  endless['properties'] = { again: endless };
  expect(JSON.stringify(exampleOf(endless)).length).toBeLessThan(200);
});
