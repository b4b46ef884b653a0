import { Agent, request } from 'node:http';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { shared } from '../support/shared.ts';

/**
 * More large events at once than the service can accept. The surplus gets a Retry-After, and as much is
 * stored as before.
 */
const app = await shared(startTestApp());
const BODY = Buffer.from(JSON.stringify({ event_type: 'large', data: 'x'.repeat(900_000) }));
const SECONDS = 4;

interface Answered {
  status: number;
  retryAfter: string | undefined;
  code: string | undefined;
}

function post(agent: Agent): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const call = request(`${app.project.base}/events/broadcast`, {
    method: 'POST',
    agent,
    headers: {
      authorization: `Bearer ${app.project.key}`,
      'content-type': 'application/json',
      'content-length': BODY.length,
    },
  });
  call.on('error', reject).on('response', (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => {
      const status = response.statusCode ?? 0;
      const code = status === 201 ? undefined : (JSON.parse(Buffer.concat(chunks).toString()) as Json).code;
      resolve({ status, code, retryAfter: response.headers['retry-after'] });
    });
  });
  call.end(BODY);
  return promise;
}

/** So many callers, each sending again as soon as it is answered. */
async function load(callers: number): Promise<Answered[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: callers });
  const until = performance.now() + SECONDS * 1000;
  const answers: Answered[] = [];
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < until) answers.push(await post(agent));
    }),
  );
  agent.destroy();
  return answers;
}

test('150 callers store as much as 40, and refused ones get a Retry-After', async () => {
  const stored = (answers: Answered[]) => answers.filter(({ status }) => status === 201).length;
  await load(10);
  const few = await load(40);
  const many = await load(150);
  const refused = [...few, ...many].filter(({ status }) => status !== 201);
  expect(refused.filter(({ code }) => code !== 'overloaded')).toEqual([]);
  expect(refused.filter(({ retryAfter }) => retryAfter !== '1')).toEqual([]);
  expect(stored(many)).toBeGreaterThan(0.6 * stored(few));
});
