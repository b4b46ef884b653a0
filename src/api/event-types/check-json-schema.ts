import { Ajv, type AnySchemaObject } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { invalid } from '../../domain/errors.ts';

/**
 * Checks a schema against the dialect it names, by default 2020-12. A foreign schema is never compiled,
 * because compiling generates code and evaluation may run a pattern of any cost.
 */
export function checkJsonSchema(schema: Record<string, unknown>, field: string): void {
  if (isDeeperThan(schema, MAX_DEPTH)) throw invalid(field, `nests deeper than ${MAX_DEPTH} levels`);
  const dialect = schema['$schema'] ?? DEFAULT_DIALECT;
  const validator = typeof dialect === 'string' ? dialects.get(dialect.replace(/#$/, '')) : undefined;
  if (validator === undefined) {
    const known = [...dialects.keys()].join(', ');
    throw invalid(`${field}.$schema`, `must be one of ${known}`);
  }
  if (validator.validateSchema(schema as AnySchemaObject) === true) return;
  const [first] = validator.errors ?? [];
  const at = first?.instancePath.replaceAll('/', '.') ?? '';
  throw invalid(`${field}${at}`, first?.message ?? 'is not a JSON Schema');
}

/** The validator recurses. */
const MAX_DEPTH = 64;

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((child) => isDeeperThan(child, levels - 1));
}

const DEFAULT_DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const options = { strict: false, logger: false, validateFormats: false } as const;
const dialects: ReadonlyMap<string, Ajv> = new Map<string, Ajv>([
  [DEFAULT_DIALECT, new Ajv2020(options)],
  ['https://json-schema.org/draft/2019-09/schema', new Ajv2019(options)],
  ['http://json-schema.org/draft-07/schema', new Ajv(options)],
]);
