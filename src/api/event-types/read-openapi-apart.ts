import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { invalid, invalidFields } from '../../domain/errors.ts';
import { parseInSlices } from '../../platform/json/parse-in-slices.ts';
import { Turns } from '../../platform/turns.ts';
import type { EventTypeDescription } from '../../store/config/event-types.ts';
import type { OpenApiAnswer } from './openapi-thread.ts';

/** YAML takes 2 to 4 ms a kB: 1 MB took 3 s on a busy machine. */
const MAX_MS = 30_000;
const MAX_HEAP_MB = 384;

const turns = new Turns(1, 1);

/** The event types of an OpenAPI document, whose schemas are checked. A thread reads it, one at a time. */
export const readOpenApiApart = (projectId: string, spec: string): Promise<EventTypeDescription[]> =>
  turns.run(projectId, () => inThread(spec));

async function inThread(spec: string): Promise<EventTypeDescription[]> {
  // TypeScript here, JavaScript in an installed package.
  const file = new URL(`./openapi-thread${extname(import.meta.filename)}`, import.meta.url);
  const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB };
  const thread = new Worker(file, { workerData: spec, resourceLimits });
  try {
    const [answer] = (await once(thread, 'message', { signal: AbortSignal.timeout(MAX_MS) })) as [
      OpenApiAnswer,
    ];
    if ('problems' in answer) throw invalidFields(answer.problems);
    return (await parseInSlices(answer.types)) as EventTypeDescription[];
  } catch (error) {
    throw isTooMuch(error) ? invalid('spec', 'is too large. Send its webhooks only, as JSON') : error;
  } finally {
    await thread.terminate();
  }
}

function isTooMuch(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'ERR_WORKER_OUT_OF_MEMORY' || code === 'ABORT_ERR';
}
