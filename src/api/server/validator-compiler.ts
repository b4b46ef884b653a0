import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv';
import { readTime } from '../../domain/time.ts';
import { CloudBatch } from '../../ingest/cloudevents/cloud-batch.ts';

/**
 * Compiles the schema of a request when the first request needs it. To compile all of them took 0.2 s of CPU at each
 * start, which is two thirds of what a node needs to start on a migrated database.
 */
export function createValidatorCompiler() {
  const ajv = new Ajv({ allErrors: true, addUsedSchema: false });
  ajv.addFormat('date-time', (text: string) => readTime(text) !== null);
  return ({ schema }: { schema: unknown }) => {
    let validate: ValidateFunction | undefined;
    return (data: unknown): true | { error: ErrorObject[] } => {
      // Its events are checked one by one, by the handler.
      if (data instanceof CloudBatch) return true;
      validate ??= ajv.compile(schema as AnySchema);
      return validate(data) || { error: validate.errors ?? [] };
    };
  };
}
