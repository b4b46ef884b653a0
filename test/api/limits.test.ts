import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());

async function limitedProject(count: number, duration: number): Promise<ApiClient> {
  const config = { ratelimit: { count, duration } };
  return app.newProject(config);
}

const send = (client: ApiClient) =>
  client.raw('POST', '/events/broadcast', { body: { event_type: 'a', data: {} } });

// differs Sending: The project's `ratelimit` is off by default; over it is 429 with `Retry-After`. An unexpected
//   limit loses events.
// proves Projects: ratelimit.count
test('a project accepts as many events as its limit, over all nodes together', async () => {
  const project = await limitedProject(7, 600);
  const node = await app.addNode();
  const elsewhere = new ApiClient(project.base.replace(app.url, node.url), project.key);
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) => send(n % 2 === 0 ? project : elsewhere)),
  );
  const refused = answers.filter((answer) => answer.status === 429);
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(7);
  expect(refused).toHaveLength(23);
  const retryAfter = Number(refused[0]?.headers.get('retry-after'));
  expect(retryAfter).toBeGreaterThan(500);
  expect(retryAfter).toBeLessThanOrEqual(600);
  expect(refused[0]?.headers.get('x-ratelimit-limit')).toBe('7');
  expect(refused[0]?.headers.get('x-ratelimit-remaining')).toBe('0');
  expect(refused[0]?.headers.get('x-ratelimit-reset')).toBe(String(retryAfter));
  expect(await refused[0]?.json()).toMatchObject({ status: false, code: 'rate_limited' });
  expect((await project.get('/events')).content).toHaveLength(7);
});

// proves Projects: ratelimit.duration
test('the limit opens again once its duration has passed, and other projects have their own', async () => {
  const project = await limitedProject(2, 3);
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => send(project)));
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, 201, 429, 429, 429]);
  const open = await limitedProject(0, 60);
  expect(
    (await Promise.all(Array.from({ length: 20 }, () => send(open)))).every((a) => a.status === 201),
  ).toBe(true);
  await eventually(async () => (await send(project)).status, 201);
});

// proves Instance: POSTHORN_API_RATE
test('calls per key and second are limited; another key is not affected', async () => {
  const node = await app.addNode({ POSTHORN_API_RATE: '5' });
  const mine = new ApiClient(app.project.base.replace(app.url, node.url), app.project.key);
  const answers = await Promise.all(Array.from({ length: 40 }, () => mine.raw('GET', '/endpoints')));
  const refused = answers.find((answer) => answer.status === 429);
  expect(answers.some((answer) => answer.status === 200)).toBe(true);
  expect(refused?.headers.get('retry-after')).toBe('1');
  expect(refused?.headers.get('x-ratelimit-limit')).toBe('5');
  const other = new ApiClient(app.instance.base.replace(app.url, node.url), app.instance.key);
  await other.get('/projects');
});

// proves Instance: POSTHORN_PORTAL_RATE
test('calls per portal link and second are limited; another link and the key are not affected', async () => {
  const node = await app.addNode({ POSTHORN_PORTAL_RATE: '5' });
  const [one, other] = await Promise.all(
    ['one', 'other'].map((owner_id) => app.project.post('/portal-links', { name: owner_id, owner_id })),
  );
  const mine = new ApiClient(`${node.url}/portal-api`, one.token);
  const answers = await Promise.all(Array.from({ length: 40 }, () => mine.raw('GET', '/endpoints')));
  expect(answers.some((answer) => answer.status === 200)).toBe(true);
  const refused = answers.find((answer) => answer.status === 429);
  expect(refused?.headers.get('x-ratelimit-limit')).toBe('5');
  await new ApiClient(`${node.url}/portal-api`, other.token).get('/endpoints');
  const keyed = new ApiClient(app.project.base.replace(app.url, node.url), app.project.key);
  const all = await Promise.all(Array.from({ length: 20 }, () => keyed.raw('GET', '/endpoints')));
  expect(all.every((answer) => answer.status === 200)).toBe(true);
});
