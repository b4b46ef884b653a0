import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv';
import { readTime } from '../../domain/time.ts';
import { CloudBatch } from '../../ingest/cloudevents/cloud-batch.ts';

/** More mistakes are not named one by one. A body of so few values has no more. */
const NAMED_VALUES = 5_000;

/**
 * Compiles the schema of a request when the first request needs it. To compile all of them took 0.2 s of CPU at each
 * start, which is two thirds of what a node needs to start on a migrated database. All mistakes of a body are named, and
 * of a huge one the first.
 */
export function createValidatorCompiler() {
  const first = withFormats(new Ajv({ addUsedSchema: false }));
  const all = withFormats(new Ajv({ allErrors: true, addUsedSchema: false }));
  return ({ schema }: { schema: unknown }) => {
    const findFirst = compiledLater(first, schema);
    const findAll = compiledLater(all, schema);
    return (data: unknown): true | { error: ErrorObject[] } => {
      // Its events are checked one by one, by the handler.
      if (data instanceof CloudBatch) return true;
      const mistake = findFirst(data);
      if (mistake.length === 0) return true;
      return { error: hasAtMost(NAMED_VALUES, data) ? findAll(data) : mistake };
    };
  };
}

function withFormats(ajv: Ajv): Ajv {
  return ajv.addFormat('date-time', (text: string) => readTime(text) !== null);
}

function compiledLater(ajv: Ajv, schema: unknown): (data: unknown) => ErrorObject[] {
  let validate: ValidateFunction | undefined;
  return (data) => {
    validate ??= ajv.compile(schema as AnySchema);
    return validate(data) ? [] : (validate.errors ?? []);
  };
}

/** Whether a value has at most so many values in it. */
function hasAtMost(most: number, data: unknown): boolean {
  const waiting = [data];
  let left = most;
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
    left -= inner.length;
    if (left < 0) return false;
    waiting.push(...inner);
  }
  return true;
}
