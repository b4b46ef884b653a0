/** The parts of an OpenAPI 3.1 document that the reference reads. */
export interface Schema {
  $ref?: string;
  title?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  examples?: unknown[];
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
}

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Content {
  content?: Record<string, { schema: Schema }>;
}

export interface Operation {
  operationId: string;
  summary?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: Content;
  /** Undefined: a key. */
  security?: Record<string, string[]>[];
  responses: Record<string, Content>;
  /** The right that it needs of a key or a person. */
  'x-access'?: string;
  /** It refuses what it does not know, because a misspelt filter would act on everything. */
  'x-acts'?: boolean;
}

export interface OpenApiDocument {
  info: { title: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, Schema> };
}

const NAMED = '#/components/schemas/';

/** The name that a reference schema refers to. */
export function refName(schema: Schema): string | undefined {
  return schema.$ref?.startsWith(NAMED) === true ? schema.$ref.slice(NAMED.length) : undefined;
}

/** The schema itself, or the one it refers to. */
export function resolved(document: OpenApiDocument, schema: Schema): Schema {
  const name = refName(schema);
  return name === undefined ? schema : (document.components?.schemas?.[name] ?? {});
}

/** The schema of the JSON in a request or response. */
export function jsonSchema(content: Content | undefined): Schema | undefined {
  return content?.content?.['application/json']?.schema;
}

/** Null, in the shape that generators of clients accept: `Nothing` of src/api/http/fields.ts. */
export const isNothing = ({ description }: Schema): boolean => description === 'Always null.';
