import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/**
 * Each number of circuit_breaker, by two projects that differ in it alone. The one that is to stay as it is goes
 * first, so that its turn has come when the other has moved.
 */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
/** Paths that answer 500. */
const broken = new Set<string>();

receiver.answerAlways(({ path }, response) => response.writeHead(broken.has(path) ? 500 : 200).end());

interface Case {
  endpointId: string;
  path: string;
  send(count: number): Promise<void>;
  endpoint(): Promise<Json>;
}

const SETTINGS = { sample_rate: 1, error_timeout: 3_600, minimum_request_count: 4, failure_threshold: 50 };
let number = 0;

async function setCase(breaker: object, config: object = {}): Promise<Case> {
  number += 1;
  const path = `/breaker-${number}`;
  const project = await app.newProject({
    strategy: { type: 'linear', duration: 1, retry_count: 100 },
    circuit_breaker: { ...SETTINGS, ...breaker },
    ...config,
  });
  const { endpoint } = await subscribe(project, `${receiver.url}${path}`);
  broken.add(path);
  return {
    endpointId: endpoint.uid,
    path,
    send: async (count) => {
      for (let n = 0; n < count; n++)
        await project.post('/events/broadcast', { event_type: 'a', data: { n } });
    },
    endpoint: () => project.get(`/endpoints/${endpoint.uid}`),
  };
}

/** Attempts counted some minutes ago, as a node counts them. */
const countAttempts = (of: Case, seen: { minutesAgo?: number; successes?: number; failures?: number }) =>
  app.database.query(
    `insert into recent_counts (project_id, endpoint_id, minute, attempts, failed_attempts)
     select project_id, id, date_trunc('minute', now()) - $2::int * interval '1 minute', $3::int + $4::int, $4
     from endpoints where id = $1`,
    [of.endpointId, seen.minutesAgo ?? 0, seen.successes ?? 0, seen.failures ?? 0],
  );

const opens = (of: Case) => eventually(of.endpoint, ({ cb_state }) => cb_state !== 'closed');

/** Both fail once after what was seen before; the second opens its breaker, the first does not. */
async function onlySecondOpens(first: Case, second: Case): Promise<void> {
  await first.send(1);
  await receiver.received(1, first.path);
  await second.send(1);
  await opens(second);
  expect((await first.endpoint()).cb_state).toBe('closed');
}

// proves Projects: circuit_breaker.sample_rate
test.concurrent('sample_rate: the interval of breaker checks', async () => {
  const [rarely, often] = [await setCase({ sample_rate: 3_600 }), await setCase({ sample_rate: 1 })];
  for (const each of [rarely, often]) await countAttempts(each, { failures: 10 });
  await onlySecondOpens(rarely, often);
});

// proves Projects: circuit_breaker.minimum_request_count
test.concurrent('minimum_request_count: fewer attempts open no breaker', async () => {
  const [many, few] = [
    await setCase({ minimum_request_count: 1_000 }),
    await setCase({ minimum_request_count: 5 }),
  ];
  for (const each of [many, few]) await countAttempts(each, { failures: 10 });
  await onlySecondOpens(many, few);
});

// proves Projects: circuit_breaker.failure_threshold
test.concurrent('failure_threshold: a smaller share of failures opens no breaker', async () => {
  const [high, low] = [await setCase({ failure_threshold: 90 }), await setCase({ failure_threshold: 40 })];
  for (const each of [high, low]) await countAttempts(each, { failures: 500, successes: 500 });
  await onlySecondOpens(high, low);
});

// proves Projects: circuit_breaker.observability_window
test.concurrent('observability_window: older attempts do not count', async () => {
  const [short, long] = [
    await setCase({ observability_window: 2, minimum_request_count: 50 }),
    await setCase({ observability_window: 30, minimum_request_count: 50 }),
  ];
  for (const each of [short, long]) await countAttempts(each, { failures: 100, minutesAgo: 10 });
  await onlySecondOpens(short, long);
});

// proves Projects: circuit_breaker.error_timeout
test.concurrent('error_timeout: an open breaker sends a probe only after it', async () => {
  const [long, short] = [await setCase({ error_timeout: 3_600 }), await setCase({ error_timeout: 2 })];
  for (const each of [long, short]) {
    await countAttempts(each, { failures: 10 });
    await each.send(1);
    await opens(each);
  }
  const whenOpen = receiver.at(long.path).length;
  for (const { path } of [long, short]) broken.delete(path);
  await eventually(short.endpoint, { cb_state: 'closed' });
  expect(receiver.at(long.path)).toHaveLength(whenOpen);
  expect((await long.endpoint()).cb_state).toBe('open');
});

// proves Projects: circuit_breaker.success_threshold
test.concurrent('success_threshold: the share of probes that must succeed before the breaker closes', async () => {
  const settings = { error_timeout: 1, minimum_request_count: 10 };
  const [strict, lax] = [
    await setCase({ ...settings, success_threshold: 100 }),
    await setCase({ ...settings, success_threshold: 10 }),
  ];
  for (const each of [strict, lax]) {
    await countAttempts(each, { failures: 10 });
    await each.send(1);
    await opens(each);
  }
  for (const { path } of [strict, lax]) broken.delete(path);
  await eventually(lax.endpoint, { cb_state: 'closed' });
  await strict.send(5);
  const probes = async () =>
    (
      await app.database.query('select probes from endpoint_breakers where endpoint_id = $1', [
        strict.endpointId,
      ])
    )[0]?.['probes'];
  await eventually(probes, 6);
  expect((await strict.endpoint()).cb_state).toBe('half-open');
  await strict.send(4);
  await eventually(strict.endpoint, { cb_state: 'closed' });
});

// proves Projects: circuit_breaker.consecutive_failure_threshold
test.concurrent('consecutive_failure_threshold: with disable_endpoint the breaker disables its endpoint when it opens that often', async () => {
  const failing = await setCase(
    { error_timeout: 1, consecutive_failure_threshold: 2 },
    { disable_endpoint: true },
  );
  await countAttempts(failing, { failures: 10 });
  await failing.send(1);
  const opened = await opens(failing);
  expect(opened.status).toBe('active');
  await eventually(failing.endpoint, { status: 'inactive' });
  expect(
    await app.database.query('select trips from endpoint_breakers where endpoint_id = $1', [
      failing.endpointId,
    ]),
  ).toEqual([{ trips: 2 }]);
});
