import { Type as TypeBox } from 'typebox';
import { expect, it } from 'vitest';
import { Type } from './type.ts';

/** Every builder, with and without options, inside of one another. */
function schemas(type: typeof Type) {
  const inner = type.Object(
    {
      a: type.String({ maxLength: 3 }),
      b: type.Optional(type.Integer({ minimum: 0 })),
      c: type.Optional(type.Union([type.Boolean(), type.Null()], { description: 'c' })),
    },
    { additionalProperties: false, description: 'inner' },
  );
  return [
    type.Array(inner),
    type.Array(type.Number({ maximum: 1 }), { maxItems: 2 }),
    type.Boolean({ default: true }),
    type.Literal(false),
    type.Literal('x', { description: 'x' }),
    type.Null({ description: 'nothing' }),
    type.Object({}),
    type.Object({ ...inner.properties, d: type.Unknown({ description: 'd' }) }),
    type.Object({ o: type.Optional(inner), p: type.Optional(type.Optional(type.String())) }),
    type.Object({ q: { ...type.Optional(type.String()), description: 'no longer optional' } }),
    type.Omit(inner, ['a']),
    type.Omit(inner, ['b', 'c']),
    type.Optional(inner),
    type.Partial(inner),
    type.Partial(inner, { description: 'all optional' }),
    type.Object({ ...type.Partial(inner).properties }),
    type.Object({ ...type.Required(inner).properties }),
    type.Record(type.String(), type.Unknown()),
    type.Record(type.String(), type.String({ maxLength: 9 }), { maxProperties: 2 }),
    type.Required(inner),
    type.Required(type.Partial(inner), { description: 'all required' }),
    type.Union([type.Literal('a'), type.Literal('b')]),
    type.Unknown(),
    type.Unsafe<string>({ type: 'string', enum: ['a'] }),
    type.Object({ u: type.Optional(type.Unsafe<string>({ type: 'string' })) }),
  ];
}

it('builds the schemas that typebox builds, in the same order', () => {
  const ours = schemas(Type).map((schema) => JSON.stringify(schema));
  expect(ours).toEqual(schemas(TypeBox).map((schema) => JSON.stringify(schema)));
});
