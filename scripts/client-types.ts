/** Prints JSON schemas as TypeScript. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  additionalProperties?: JsonSchema | boolean;
}

const NAMED = '#/components/schemas/';

/** The keywords that a type can say, and those that only limit its values. Any other would be lost. */
const KNOWN = new Set(
  (
    '$ref type description enum const properties required items anyOf additionalProperties ' +
    'minimum maximum minLength maxLength minItems maxItems maxProperties propertyNames format pattern default examples title'
  ).split(' '),
);

/**
 * `interface Name {...}` for an object with fields, and `type Name = ...` for anything else. An object that has
 * all fields of a base, most of them alike, extends it and repeats the others.
 */
export function declaration(
  name: string,
  schema: JsonSchema,
  bases: Readonly<Record<string, JsonSchema>> = {},
): string {
  const start = `${comment(schema.description)}export`;
  if (schema.properties === undefined) return `${start} type ${name} = ${typeText(schema)};\n`;
  const fields = fieldTexts(schema);
  const extended: string[] = [];
  for (const [base, baseSchema] of Object.entries(bases)) {
    const inherited = [...fieldTexts(baseSchema)];
    const alike = inherited.filter(([field, text]) => fields.get(field) === text);
    const hasAll = inherited.every(([field]) => fields.has(field));
    if (base === name || !hasAll || alike.length * 2 < inherited.length) continue;
    extended.push(base);
    for (const [field] of alike) fields.delete(field);
  }
  if (fields.size === 0 && extended.length > 0) return `${start} type ${name} = ${extended.join(' & ')};\n`;
  const heritage = extended.length === 0 ? '' : `extends ${extended.join(', ')} `;
  return `${start} interface ${name} ${heritage}{\n${[...fields.values()].join('')}}\n`;
}

export function typeText(schema: JsonSchema): string {
  const unknown = Object.keys(schema).filter((keyword) => !KNOWN.has(keyword));
  if (unknown.length > 0) throw new Error(`the client cannot print the keyword ${unknown.join(', ')}`);
  if (schema.$ref !== undefined) return schema.$ref.slice(NAMED.length);
  if (schema.enum !== undefined) return union(schema.enum.map((value) => literal(value)));
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.anyOf !== undefined) return isAlwaysNull(schema) ? 'null' : union(schema.anyOf.map(typeText));
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeText({ ...schema, type })));
  return plainType(schema);
}

export function isAlwaysNull({ description }: JsonSchema): boolean {
  return description === 'Always null.';
}

function plainType(schema: JsonSchema): string {
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'array':
      return arrayOf(typeText(schema.items ?? {}));
    case 'object':
      return objectType(schema);
    case undefined:
      return 'unknown';
    default:
      throw new Error(`the client cannot print the type ${String(schema.type)}`);
  }
}

function objectType(schema: JsonSchema): string {
  const { properties, additionalProperties } = schema;
  if (properties !== undefined) return `{\n${[...fieldTexts(schema).values()].join('')}}`;
  const values = typeof additionalProperties === 'object' ? typeText(additionalProperties) : 'unknown';
  return `Record<string, ${values}>`;
}

function fieldTexts({ properties = {}, required = [] }: JsonSchema): Map<string, string> {
  return new Map(
    Object.entries(properties).map(([name, field]) => {
      const key = `${propertyName(name)}${required.includes(name) ? '' : '?'}`;
      return [name, `${comment(field.description)}${key}: ${typeText(field)};\n`];
    }),
  );
}

export function comment(text: string | undefined): string {
  return text === undefined || text === '' ? '' : `/** ${text.replaceAll('*/', '*\\/')} */\n`;
}

const literal = (value: unknown): string => JSON.stringify(value);
const union = (types: string[]): string => [...new Set(types)].join(' | ');
const arrayOf = (type: string): string => (/^\w+$/.test(type) ? `${type}[]` : `Array<${type}>`);
const propertyName = (name: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
