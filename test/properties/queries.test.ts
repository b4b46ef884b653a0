import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { fetchOpenApi } from '../support/openapi.ts';
import { shared } from '../support/shared.ts';
import { hostileText, seeds } from './schema-arbitrary.ts';

/** Random parameters and random ids for every operation that reads: an answer or a refusal, never a failure. */
const app = await shared(startTestApp());
/** Paths of the operations that read, with the parameters each has. */
let reads: { path: string; names: string[] }[];

beforeAll(async () => {
  const { endpoint } = await subscribe(app.project, 'http://127.0.0.1:1');
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  await app.project.post('/events/broadcast', { event_type: 'x', data: { a: 1 } });
  const { paths } = await fetchOpenApi(app.url);
  const root = '/api/v1/projects/{projectID}';
  reads = Object.entries<Json>(paths)
    .filter(([path, methods]) => path.startsWith(root) && methods.get !== undefined)
    // The answer of a stream has no end.
    .filter(([path]) => !path.endsWith('/stream'))
    .map(([path, methods]) => ({
      path: path.slice(root.length),
      names: (methods.get.parameters ?? [])
        .filter((parameter: Json) => parameter.in === 'query')
        .map((parameter: Json) => parameter.name),
    }));
});

const likely = fc.constantFrom(
  '',
  '1',
  '0',
  '2000',
  'ASC',
  'prev',
  'Success',
  '2026-01-01T00:00:00',
  '2026-02-30',
  '0001-01-01T00:00:00',
  '+275760-09-13T00:00:00.000Z',
  '9999-12-31T23:59:59Z',
  '01HZX3ZV4T8T4Y6N0Y7Q9B2C3D',
  '{"a":1}',
  '{"a":{"$gt":1}}',
);
const value = fc.oneof(likely, hostileText);

/** Half of a pair has no place in a URL. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

async function answerTo(path: string): Promise<unknown[]> {
  const response = await app.project.raw('GET', path);
  const body = await response.text();
  return response.status >= 500 ? [path, response.status, body] : [];
}

describe('every operation that reads', () => {
  test.each(seeds)('accepts any query without an internal error (seed %i)', async (seed) => {
    const lists = reads.filter(({ path, names }) => names.length > 0 && !path.includes('{'));
    expect(lists.length).toBeGreaterThan(8);
    const requests = fc.constantFrom(...lists).chain(({ path, names }) =>
      fc.tuple(
        fc.constant(path),
        fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names), hostileText), value), {
          minLength: 1,
          maxLength: 5,
        }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(requests, async ([path, pairs]) => {
        const query = pairs.map(([name, text]) => `${encode(name)}=${encode(text)}`).join('&');
        expect(await answerTo(`${path}?${query}`)).toEqual([]);
      }),
      { seed, numRuns: 400 },
    );
  });

  test.each(seeds)('accepts bytes that are not a URL without an internal error (seed %i)', async (seed) => {
    const raw = fc.stringMatching(/^[%&=?a-f0-9[\]+.]{0,30}$/);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...reads), raw, async ({ path }, query) => {
        expect(await answerTo(`${path.replaceAll(/\{\w+\}/g, 'none')}?${query}`)).toEqual([]);
      }),
      { seed, numRuns: 100 },
    );
  });

  test.each(seeds)('accepts any id without an internal error, and finds nothing (seed %i)', async (seed) => {
    const single = reads.filter(({ path }) => path.includes('{'));
    expect(single.length).toBeGreaterThan(10);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...single), hostileText, async ({ path }, text) => {
        // The URL itself resolves dots, so they cannot be an id.
        fc.pre(text !== '' && !/^\.{1,2}$/.test(text));
        const where = path.replaceAll(/\{\w+\}/g, () => encode(text));
        const response = await app.project.raw('GET', where);
        expect([where, [400, 404, 414].includes(response.status), response.status]).toEqual([
          where,
          true,
          response.status,
        ]);
      }),
      { seed, numRuns: 150 },
    );
  });
});
