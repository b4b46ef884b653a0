import { expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());

test.each(['subscriptions', 'sources'])(
  'a function of %s is run and shows its result, log and cost',
  async (resource) => {
    const answer = await app.project.post(
      `/${resource}/test_function`,
      {
        payload: { a: 1 },
        function: 'function transform(p) { console.log("seen", p.a); return { ...p, b: 2 } }',
        type: 'body',
      },
      200,
    );
    expect(answer).toMatchObject({
      payload: { a: 1, b: 2 },
      log: ['seen 1'],
      limits: { cpu_ms: 100, heap_bytes: 33_554_432 },
    });
    expect(answer.duration_ms).toBeGreaterThanOrEqual(0);
  },
);

test.each([
  ['function transform( {', 'function:'],
  ['const x = 1', 'transform'],
  ['function transform() { throw new Error("broken") }', 'broken'],
  ['function transform() { for (;;); }', '100 ms'],
])('%s is refused with the reason', async (code, problem) => {
  const body = { payload: {}, function: code };
  // Asks again while the machine is too busy to run functions.
  const answer = await eventually(
    async (): Promise<Json> =>
      (await app.project.raw('POST', '/subscriptions/test_function', { body })).json(),
    ({ code }) => code !== 'overloaded',
  );
  expect(answer.code).toBe('validation_failed');
  expect(answer.message).toContain(problem);
});

test('a header function must return strings', async () => {
  const body = { payload: { a: 'b' }, function: 'function transform(h) { return { a: 1 } }', type: 'header' };
  expect((await app.project.post('/sources/test_function', body, 400)).message).toContain('strings');
});
