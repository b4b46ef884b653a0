import { appendFileSync } from 'node:fs';
import { expect, inject } from 'vitest';
import { answerProblems } from './suite/answer-problems.ts';
import { callLine } from './suite/operation-coverage.ts';

/** A caller of the API. Every call names its expected status, so a test cannot miss an error. */
export type Json = ReturnType<typeof JSON.parse>;

const UNKNOWN_PARAMETER = 'unknown query parameter';

export class ApiClient {
  readonly base: string;
  readonly key: string;

  constructor(base: string, key: string) {
    this.base = base;
    this.key = key;
  }

  /** The project in its base URL. */
  get projectId(): string {
    return this.base.split('/').at(-1) ?? '';
  }

  get(path: string, expected = 200): Promise<Json> {
    return this.call('GET', path, { expected });
  }

  post(path: string, body?: unknown, expected = 201): Promise<Json> {
    return this.call('POST', path, { body, expected });
  }

  put(path: string, body?: unknown, expected = 202): Promise<Json> {
    return this.call('PUT', path, { body, expected });
  }

  delete(path: string, expected = 200): Promise<Json> {
    return this.call('DELETE', path, { expected });
  }

  /** The parsed response: `data` of a success, the whole envelope of an error. */
  async call(
    method: string,
    path: string,
    options: { body?: unknown; expected: number; headers?: Record<string, string> },
  ): Promise<Json> {
    const response = await this.raw(method, path, options);
    const text = await response.text();
    expect(`${response.status} ${method} ${path} ${response.status === options.expected ? '' : text}`).toBe(
      `${options.expected} ${method} ${path} `,
    );
    const answer = JSON.parse(text) as Json;
    // A misspelt parameter of a read changes nothing, so the test would assert about another list.
    if (answer?.status === true) {
      const unknown = (answer.warnings ?? []).filter((text: string) => text.startsWith(UNKNOWN_PARAMETER));
      expect([method, path, unknown]).toEqual([method, path, []]);
    }
    // Earlier versions of the interface have other shapes.
    if (options.headers === undefined) {
      const problems = answerProblems(method, `${this.base}${path}`, {
        status: response.status,
        body: answer,
      });
      expect([method, path, problems]).toEqual([method, path, []]);
    }
    return answer.status === true ? answer.data : answer;
  }

  /** The credential of each call. */
  headers(): Record<string, string> {
    return this.key === '' ? {} : { authorization: `Bearer ${this.key}` };
  }

  async raw(
    method: string,
    path: string,
    options: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const { body } = options;
    const url = `${this.base}${path}`;
    const response = await fetch(url, {
      method,
      headers: {
        ...this.headers(),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    record(callLine(method, url, response.status));
    return response;
  }
}

const recorded = new Set<string>();

/** For the end of the run, which checks that every operation was called. */
function record(line: string): void {
  if (recorded.has(line)) return;
  recorded.add(line);
  appendFileSync(inject('callLog'), line);
}
