import fc from 'fast-check';

/** Random JSON by the schemas the service documents. */
export interface Schema {
  type?: string | undefined;
  enum?: string[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  patternProperties?: Record<string, Schema>;
  anyOf?: Schema[];
}

/** Values for fields whose rules the schema does not tell, by the field's path. */
export type Known = Record<string, fc.Arbitrary<unknown>>;

/** Half of each seed pair is fixed, so that a failure comes back; the other finds new ones and is named by the test. */
export const seeds = [20_260_101, Math.trunc(Math.random() * 2 ** 31)];

export function validValue(schema: Schema, known: Known = {}, path = ''): fc.Arbitrary<unknown> {
  const override = known[path];
  if (override !== undefined) return override;
  if (schema.anyOf !== undefined)
    return fc.oneof(...schema.anyOf.map((branch) => validValue(branch, known, path)));
  switch (schema.type ?? 'any') {
    case 'object':
      return validObject(schema, known, path);
    case 'array':
      return fc.array(validValue(schema.items ?? {}, known, `${path}[]`), {
        minLength: schema.minItems ?? 0,
        maxLength: 3,
      });
    case 'string':
      return validString(schema);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 1000 });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function validObject(schema: Schema, known: Known, path: string): fc.Arbitrary<unknown> {
  const { properties = {}, required = [] } = schema;
  const names = Object.keys(properties);
  if (names.length === 0) return fc.dictionary(text(1, 12), fc.constantFrom('a', 'b'), { maxKeys: 3 });
  const fields = names.map((name): [string, fc.Arbitrary<unknown>] => [
    name,
    validValue(properties[name] as Schema, known, path === '' ? name : `${path}.${name}`),
  ]);
  return fc.record(Object.fromEntries(fields), {
    requiredKeys: [...required, ...Object.keys(known)].filter((name) => names.includes(name)),
  });
}

function validString(schema: Schema): fc.Arbitrary<string> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.format === 'date-time')
    return fc
      .date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString());
  if (schema.pattern !== undefined) return fc.constantFrom('', 'someone@example.org');
  return text(schema.minLength ?? 0, Math.min(schema.maxLength ?? 40, 40));
}

/** Any characters but those no text can have: NUL, and halves of a pair. */
function text(minLength: number, maxLength: number): fc.Arbitrary<string> {
  // Graphemes may be several characters long, which count one by one.
  return fc
    .string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.trunc(maxLength / 8)) })
    .filter((value) => !value.includes('\u0000') && value.length <= maxLength);
}

/** A body with one field of the wrong type or left out, and that field's path. */
export interface Spoilt {
  body: unknown;
  field: string;
}

export function spoiltValue(schema: Schema, known: Known): fc.Arbitrary<Spoilt> {
  const { properties = {}, required = [] } = schema;
  const wrong = Object.entries(properties).flatMap(([field, { type, anyOf = [{ type }] }]) => {
    const [only, ...others] = anyOf.map((branch) => branch.type).filter((name) => name !== 'null');
    if (only === undefined || others.length > 0) return [];
    return fc
      .tuple(validValue(schema, known), wrongFor(only))
      .map(([body, value]): Spoilt => ({ body: { ...(body as object), [field]: value }, field }));
  });
  const missing = required.map((field) =>
    validValue(schema, known).map((body): Spoilt => {
      const { [field]: _, ...rest } = body as Record<string, unknown>;
      return { body: rest, field };
    }),
  );
  return fc.oneof(...wrong, ...missing);
}

function wrongFor(type: string): fc.Arbitrary<unknown> {
  const values: [string, unknown][] = [
    ['string', 'text'],
    ['integer', 1],
    ['number', 1.5],
    ['boolean', true],
    ['object', { unexpected: 1 }],
    ['array', [[]]],
  ];
  return fc.constantFrom(...values.filter(([name]) => name !== type).map(([, value]) => value));
}

/** Text that finds its way around checks. */
export const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(
    '\u0000',
    'a\u0000b',
    '\ud800',
    '%',
    '%00',
    '..',
    "'; drop table events; --",
    '\\',
    '9'.repeat(400),
    '-1',
    '1e999',
    '{"a":',
    '[]',
    '__proto__',
  ),
);

export const hostileJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
  fc.dictionary(hostileText, fc.oneof(hostileText, fc.jsonValue({ maxDepth: 1 })), { maxKeys: 5 }),
);
