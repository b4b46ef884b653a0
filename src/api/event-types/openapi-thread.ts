/** The thread behind `readOpenApiApart`. It answers the JSON of the types, or the problems of the document. */
import { parentPort, workerData } from 'node:worker_threads';
import { AppError, type FieldProblem, invalid } from '../../domain/errors.ts';
import { checkJsonSchema } from './check-json-schema.ts';
import { readOpenApi } from './read-openapi.ts';

export type OpenApiAnswer = { types: string } | { problems: readonly FieldProblem[] };

/** Each type has a copy of the components that it reaches. */
const MAX_CHARS = 32 * 1024 * 1024;

function answer(spec: string): OpenApiAnswer {
  let chars = 0;
  try {
    const types = readOpenApi(spec).map((type) => {
      if (type.json_schema !== null) checkJsonSchema(type.json_schema, `spec.${type.name}`);
      const json = JSON.stringify(type);
      chars += json.length;
      if (chars > MAX_CHARS) throw invalid('spec', `has webhooks with more than ${MAX_CHARS} characters`);
      return json;
    });
    return { types: `[${types.join(',')}]` };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { problems: error.fields };
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(answer(workerData as string));
