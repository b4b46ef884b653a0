/** A value that fits a JSON Schema: its own example where it has one, else one made from its types. */
const MAX_DEPTH = 8;

type Schema = Readonly<Record<string, unknown>>;

const TEXTS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  email: 'ada@example.com',
  uri: 'https://example.com',
  uuid: '0b6f2f6e-4c1e-4d5a-9a53-0f0c5f6f7a10',
};

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;

/** Undefined if nothing is known. */
export function exampleOf(schema: unknown, depth = 0): unknown {
  if (!isSchema(schema) || depth > MAX_DEPTH) return undefined;
  const { examples, example, const: fixed, default: usual, enum: values } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  const given = [example, fixed, usual, Array.isArray(values) ? values[0] : undefined];
  const own = given.find((value) => value !== undefined);
  if (own !== undefined) return own;
  const [choice] = [schema['oneOf'], schema['anyOf'], schema['allOf']].flatMap((list) =>
    Array.isArray(list) ? list : [],
  );
  if (choice !== undefined) return exampleOf(choice, depth + 1);
  return exampleOfType(schema, depth);
}

function exampleOfType(schema: Schema, depth: number): unknown {
  const { properties, items, format } = schema;
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  if (isSchema(properties))
    return Object.fromEntries(
      Object.entries(properties).map(([name, below]) => [name, exampleOf(below, depth + 1) ?? null]),
    );
  if (type === 'array') return items === undefined ? [] : [exampleOf(items, depth + 1) ?? null];
  if (type === 'string') return TEXTS[String(format)] ?? 'text';
  if (type === 'integer') return 1;
  if (type === 'number') return 1.5;
  if (type === 'boolean') return true;
  return type === 'object' ? {} : undefined;
}
