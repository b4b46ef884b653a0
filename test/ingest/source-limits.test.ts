import { expect, test } from 'vitest';
import { httpSource, startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());

const nodeUrl = (await app.addNode()).url;

async function limitedProject(ratelimit?: object): Promise<ApiClient> {
  const made = await app.instance.post('/projects', {
    name: `limited ${Math.random()}`,
    type: 'incoming',
    ...(ratelimit !== undefined && { config: { ratelimit } }),
  });
  return new ApiClient(`${app.url}/api/v1/projects/${made.project.uid}`, made.api_key.key);
}

const post = (source: Json, base = app.url): Promise<Response> =>
  fetch(`${base}/ingest/${source.mask_id}`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  });

const statuses = (answers: Response[]) => ({
  taken: answers.filter(({ status }) => status === 200).length,
  refused: answers.filter(({ status }) => status === 429).length,
});

// proves Sources: rate_limit
test('a source takes as many events as its limit, over all nodes together, and the refusal has the time to retry', async () => {
  const project = await limitedProject();
  const limits = { rate_limit: 9, rate_limit_duration: 600 };
  const source = await project.post('/sources', { name: 's', type: 'http', ...limits });
  const other = await httpSource(project);
  expect(source).toMatchObject(limits);
  await Promise.all([post(source), post(source, nodeUrl)]);
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) => post(source, n % 2 === 0 ? app.url : nodeUrl)),
  );
  expect(statuses(answers)).toEqual({ taken: 7, refused: 33 });
  const refused = answers.find(({ status }) => status === 429);
  const retryAfter = Number(refused?.headers.get('retry-after'));
  expect(retryAfter).toBeGreaterThan(500);
  expect(retryAfter).toBeLessThanOrEqual(600);
  expect(refused?.headers.get('x-ratelimit-limit')).toBe('9');
  expect(await refused?.json()).toMatchObject({ status: false, code: 'rate_limited' });
  expect((await project.get(`/events?sourceId=${source.uid}`)).content).toHaveLength(9);
  expect((await post(other)).status).toBe(200);
});

// proves Sources: rate_limit_duration
test('the limit of a source opens again once its duration has passed', async () => {
  const project = await limitedProject();
  const source = await httpSource(project, { rate_limit: 2, rate_limit_duration: 2 });
  expect(statuses(await Promise.all([1, 2, 3, 4].map(() => post(source))))).toEqual({ taken: 2, refused: 2 });
  await eventually(async () => (await post(source)).status, 200);
});

test('the project’s limit applies to webhooks too, and its refusals do not count for the source', async () => {
  const project = await limitedProject({ count: 3, duration: 4 });
  const source = await httpSource(project, { rate_limit: 5, rate_limit_duration: 600 });
  expect(statuses(await Promise.all(Array.from({ length: 12 }, () => post(source))))).toEqual({
    taken: 3,
    refused: 9,
  });
  const later = () => eventually(async () => (await post(source)).status, 200);
  await later();
  await later();
  expect((await post(source)).status).toBe(429);
  expect((await project.get(`/events?sourceId=${source.uid}`)).content).toHaveLength(5);
});

test('events by API under a rest_api source keep to its limit', async () => {
  const project = await limitedProject();
  const source = await project.post('/sources', {
    name: 's',
    type: 'rest_api',
    rate_limit: 1,
    rate_limit_duration: 600,
  });
  const event = { event_type: 'a', data: {}, source_id: source.uid };
  await project.post('/events/broadcast', event);
  expect((await project.post('/events/broadcast', event, 429)).code).toBe('rate_limited');
});
