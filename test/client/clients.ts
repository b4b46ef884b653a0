import { appendFileSync } from 'node:fs';
import { inject } from 'vitest';
import { Posthorn, type PosthornOptions } from '../../client/src/posthorn.ts';
import type { TestApp } from '../support/app.ts';
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
