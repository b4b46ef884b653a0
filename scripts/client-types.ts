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
    'minimum maximum minLength maxLength minItems maxItems format pattern default examples title'
  ).split(' '),
);

/** `interface Name {...}` for an object with fields, and `type Name = ...` for anything else. */
export function declaration(name: string, schema: JsonSchema): string {
  const text = typeText(schema);
  const start = comment(schema.description);
  return schema.properties === undefined
    ? `${start}export type ${name} = ${text};\n`
    : `${start}export interface ${name} ${text}\n`;
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

function objectType({ properties, required = [], additionalProperties }: JsonSchema): string {
  if (properties === undefined) {
    const values = typeof additionalProperties === 'object' ? typeText(additionalProperties) : 'unknown';
    return `Record<string, ${values}>`;
  }
  const fields = Object.entries(properties).map(
    ([name, field]) =>
      `${comment(field.description)}${propertyName(name)}${required.includes(name) ? '' : '?'}: ${typeText(field)};\n`,
  );
  return `{\n${fields.join('')}}`;
}

export function comment(text: string | undefined): string {
  return text === undefined || text === '' ? '' : `/** ${text.replaceAll('*/', '*\\/')} */\n`;
}

const literal = (value: unknown): string => JSON.stringify(value);
const union = (types: string[]): string => [...new Set(types)].join(' | ');
const arrayOf = (type: string): string => (/^\w+$/.test(type) ? `${type}[]` : `Array<${type}>`);
const propertyName = (name: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
