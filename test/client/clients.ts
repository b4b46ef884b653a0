import { appendFileSync } from 'node:fs';
import { inject } from 'vitest';
import { Posthorn, type PosthornOptions, type PosthornPortal } from '../../client/src/posthorn.ts';
import type { Method } from '../../scripts/client-operations.ts';
import type { TestApp } from '../support/app.ts';
import type { Call } from '../support/operations/cases.ts';
import { callLine } from '../support/suite/operation-coverage.ts';

/** A client of the default project. */
export function clientOf(app: TestApp, options: Partial<PosthornOptions> = {}): Posthorn {
  return new Posthorn({
    url: app.url,
    key: app.project.key,
    project: app.projectId,
    fetch: recordedFetch,
    ...options,
  });
}

/** For the end of the run, which checks that every operation was called. */
export const recordedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  appendFileSync(inject('callLog'), callLine(init?.method ?? 'GET', new Request(input).url, response.status));
  return response;
};

/** The method's own call of the table. */
export async function callMethod(
  client: Posthorn | PosthornPortal,
  { resource, name, pathParameters, body, query, result }: Method,
  call: Call,
): Promise<unknown> {
  const resources = client as unknown as Record<string, Record<string, (...args: unknown[]) => unknown>>;
  const made = resources[`${resource[0]!.toLowerCase()}${resource.slice(1)}`]![name]!(
    ...pathParameters.map((parameter) => call.ids[parameter]),
    ...(body === undefined ? [] : [call.body]),
    ...(query === undefined ? [] : [call.query]),
  );
  return result.kind === 'list' ? (made as { page(): unknown }).page() : made;
}
