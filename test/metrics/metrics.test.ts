import { describe, expect, test } from 'vitest';
import { metricTable } from '../../src/metrics/metrics.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { processMetrics } from './process-metrics.ts';
import { type Scrape, scrape } from './scrape.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const send = (eventType: string, fields: object = {}) =>
  app.project.post('/events/broadcast', { event_type: eventType, data: {}, ...fields });

/** The page, once a series has a value. */
const pageWith = (series: string, wanted: number) =>
  eventually(
    () => scrape(app.url),
    ({ value }) => value(series) === wanted,
  );

/** How much a series has grown between two scrapes. */
const grown = (before: Scrape, after: Scrape, series: string) => after.value(series) - before.value(series);

describe('the page', () => {
  test('shows exactly the metrics of the table, with their types', async () => {
    const { types } = await scrape(app.url);
    const here = processMetrics.filter(({ isLinuxOnly }) => process.platform === 'linux' || !isLinuxOnly);
    const declared = [...Object.values(metricTable), ...here];
    expect(Object.fromEntries(types)).toEqual(
      Object.fromEntries(declared.map(({ name, type }) => [name, type])),
    );
  });

  test('is text for Prometheus and needs no key', async () => {
    const response = await fetch(`${app.url}/metrics`);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  test('has as many series after a load as before, and names no tenant', async () => {
    const ours = ({ series }: Scrape) => series.filter((name) => !/posthorn_(nodejs|process)_/.test(name));
    const before = ours(await scrape(app.url));
    const { endpoint } = await subscribe(app.project, `${receiver.url}/named`, { eventTypes: ['named'] });
    await Promise.all(Array.from({ length: 5 }, () => send('named')));
    await fetch(`${app.url}/no/such/${endpoint.uid}`);
    const after = ours(await scrape(app.url));
    expect(after).toEqual(before);
    expect(after.filter((name) => name.includes(endpoint.uid) || name.includes(app.projectId))).toEqual([]);
  });

  // proves Instance: POSTHORN_METRICS
  test.each([
    { env: { POSTHORN_METRICS: 'off' }, status: 404 },
    { env: { POSTHORN_METRICS: '' }, status: 200 },
    { env: { POSTHORN_METRICS: 'on', POSTHORN_HOST: '0.0.0.0' }, status: 200 },
    { env: { POSTHORN_METRICS: '', POSTHORN_HOST: '0.0.0.0' }, status: 404 },
  ])('is answered $status with $env', async ({ env, status }) => {
    const node = await app.addNode(env);
    const url = node.url.replace('0.0.0.0', '127.0.0.1');
    expect((await fetch(`${url}/metrics`)).status).toBe(status);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await node.stop();
  });
});

describe('counts', () => {
  test('match a small load: accepted, delivered, retried, failed', async () => {
    const retryOnce = { retry_config: { type: 'linear', retry_count: 1, interval_seconds: 1 } };
    const flaky = await Receiver.start();
    flaky.answerNext(500);
    const broken = await Receiver.start();
    broken.answerAlways(404);
    await subscribe(app.project, receiver.url, { eventTypes: ['load.good'] });
    await subscribe(app.project, flaky.url, { eventTypes: ['load.flaky'], subscription: retryOnce });
    await subscribe(app.project, broken.url, { eventTypes: ['load.broken'], subscription: retryOnce });
    const before = await pageWith('posthorn_window_used', 0);

    await Promise.all(Array.from({ length: 10 }, () => send('load.good')));
    await send('load.flaky');
    await send('load.broken');
    await send('load.unmatched');
    await send('load.good', { idempotency_key: 'once' });
    await send('load.good', { idempotency_key: 'once' });

    const finished = (page: Scrape) =>
      grown(before, page, 'posthorn_deliveries_finished_total{status="success"}') +
      grown(before, page, 'posthorn_deliveries_finished_total{status="failure"}');
    const after = await eventually(
      () => scrape(app.url),
      (page) => finished(page) === 13,
    );
    const counts = Object.fromEntries(
      [
        'posthorn_events_total{result="stored"}',
        'posthorn_events_total{result="duplicate"}',
        'posthorn_events_total{result="unmatched"}',
        'posthorn_events_total{result="refused"}',
        'posthorn_deliveries_finished_total{status="success"}',
        'posthorn_deliveries_finished_total{status="failure"}',
        'posthorn_retries_planned_total',
        'posthorn_attempts_total{outcome="2xx"}',
        'posthorn_attempts_total{outcome="4xx"}',
        'posthorn_attempts_total{outcome="5xx"}',
        'posthorn_delivery_latency_seconds_count',
        'posthorn_attempt_duration_seconds_count',
        'posthorn_retry_lateness_seconds_count',
        'posthorn_batch_size_sum{batch="accept"}',
        'posthorn_batch_size_sum{batch="finish"}',
        'posthorn_batch_size_sum{batch="claim"}',
      ].map((series) => [series.replace('posthorn_', ''), grown(before, after, series)]),
    );
    expect(counts).toEqual({
      'events_total{result="stored"}': 13,
      'events_total{result="duplicate"}': 1,
      'events_total{result="unmatched"}': 1,
      'events_total{result="refused"}': 0,
      'deliveries_finished_total{status="success"}': 12,
      'deliveries_finished_total{status="failure"}': 1,
      retries_planned_total: 2,
      'attempts_total{outcome="2xx"}': 12,
      'attempts_total{outcome="4xx"}': 2,
      'attempts_total{outcome="5xx"}': 1,
      delivery_latency_seconds_count: 12,
      attempt_duration_seconds_count: 15,
      retry_lateness_seconds_count: 2,
      'batch_size_sum{batch="accept"}': 15,
      'batch_size_sum{batch="finish"}': 15,
      'batch_size_sum{batch="claim"}': 2,
    });
    await flaky.stop();
    await broken.stop();
  });

  test('distinguish an unreachable endpoint from one that answers', async () => {
    const gone = await Receiver.start();
    await subscribe(app.project, gone.url, {
      eventTypes: ['unreachable'],
      subscription: { retry_config: { type: 'linear', retry_count: 0, interval_seconds: 1 } },
    });
    await gone.stop();
    const before = await scrape(app.url);
    await send('unreachable');
    await eventually(
      () => scrape(app.url),
      (page) => grown(before, page, 'posthorn_attempts_total{outcome="no_answer"}') === 1,
    );
  });

  test('have refused events, and requests by family and class', async () => {
    const project = await app.instance.post('/projects', {
      name: 'limited intake',
      type: 'outgoing',
      config: { ratelimit: { count: 1, duration: 3600 } },
    });
    const before = await scrape(app.url);
    const post = () =>
      fetch(`${app.url}/api/v1/projects/${project.project.uid}/events/broadcast`, {
        method: 'POST',
        headers: { authorization: `Bearer ${project.api_key.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ event_type: 'x', data: {} }),
      });
    expect([(await post()).status, (await post()).status]).toEqual([201, 429]);
    await fetch(`${app.url}/ingest/unknown`, { method: 'POST' });
    await fetch(`${app.url}/healthz`);
    await fetch(`${app.url}/nothing`);
    const after = await scrape(app.url);
    const requests = (family: string, status: string) =>
      grown(before, after, `posthorn_http_requests_total{family="${family}",class="${status}"}`);
    expect(grown(before, after, 'posthorn_events_total{result="refused"}')).toBe(1);
    expect({
      created: requests('api', '2xx'),
      limited: requests('api', '4xx'),
      ingest: requests('ingest', '4xx'),
      health: requests('health', '2xx'),
      nothing: requests('other', '4xx'),
      metrics: requests('metrics', '2xx'),
    }).toEqual({ created: 1, limited: 1, ingest: 1, health: 1, nothing: 1, metrics: 1 });
  });
});

describe('gauges', () => {
  test('show how long deliveries wait to be pulled apart from those that nodes send', async () => {
    const { endpoint } = await subscribe(app.project, `${receiver.url}/pulled`, {
      eventTypes: ['pulled'],
      endpoint: { delivery: 'pull' },
      // The queue has it under the key of the subscription.
      subscription: { rate_limit_config: { count: 5, duration: 1 } },
    });
    await send('pulled');
    await app.database.query("update delivery_queue set due_at = due_at - interval '2 hours'");
    const page = await eventually(
      () => scrape(app.url),
      ({ value }) => value('posthorn_queue_oldest_pull_seconds') >= 7_200,
    );
    expect(page.value('posthorn_queue_oldest_due_seconds{lane="first"}')).toBe(0);
    await app.project.delete(`/endpoints/${endpoint.uid}`);
    await pageWith('posthorn_queue_oldest_pull_seconds', 0);
  });

  test('show deliveries that wait for a paused endpoint, and for how long', async () => {
    const { endpoint } = await subscribe(app.project, `${receiver.url}/paused`, { eventTypes: ['paused'] });
    await app.project.put(`/endpoints/${endpoint.uid}/pause`, undefined, 202);
    await Promise.all(Array.from({ length: 7 }, () => send('paused')));
    await app.database.query("update delivery_queue set due_at = due_at - interval '1 hour' where key = $1", [
      endpoint.uid,
    ]);
    const held = await pageWith('posthorn_queue_waiting{lane="first"}', 7);
    const age = held.value('posthorn_queue_oldest_due_seconds{lane="first"}');
    expect(age).toBeGreaterThanOrEqual(3_600);
    expect(age).toBeLessThan(3_700);
    expect(held.value('posthorn_queue_oldest_due_seconds{lane="replay"}')).toBe(0);
    await app.project.put(`/endpoints/${endpoint.uid}/pause`, undefined, 202);
    await pageWith('posthorn_queue_waiting{lane="first"}', 0);
  });

  test('show deliveries being sent, the window and the connections', async () => {
    const slow = await Receiver.start();
    const answers: (() => void)[] = [];
    slow.answerAlways((_request, response) => answers.push(() => response.end()));
    await subscribe(app.project, slow.url, { eventTypes: ['slow'] });
    await send('slow');
    await slow.received(1);
    const page = await scrape(app.url);
    expect(page.value('posthorn_deliveries_held{state="sending"}')).toBe(1);
    expect(page.value('posthorn_window_used')).toBe(1);
    expect(page.value('posthorn_window_size')).toBe(3_000);
    expect(page.value('posthorn_database_up')).toBe(1);
    const connections = (pool: string) =>
      page.value(`posthorn_database_connections{pool="${pool}",state="busy"}`) +
      page.value(`posthorn_database_connections{pool="${pool}",state="idle"}`);
    expect(connections('hot')).toBeGreaterThan(0);
    expect(connections('lease')).toBe(1);
    for (const answer of answers) answer();
    await pageWith('posthorn_deliveries_held{state="sending"}', 0);
    await slow.stop();
  });

  test('show open circuit breakers, but not those of deleted endpoints', async () => {
    const { endpoint } = await subscribe(app.project, `${receiver.url}/breaker`, { eventTypes: ['breaker'] });
    await app.database.query(
      `insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, changed_at)
       values ($1, $2, 0, 'open', 1, now()), ('deleted', $2, 0, 'open', 1, now())`,
      [endpoint.uid, app.projectId],
    );
    await pageWith('posthorn_circuit_breakers_open', 1);
  });
});
