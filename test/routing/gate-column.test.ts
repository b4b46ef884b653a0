import { expect, test } from 'vitest';
import { USUAL_BATCH } from '../../src/domain/config/batch.ts';
import type { Breaker } from '../../src/domain/config/circuit-breaker.ts';
import { endpointStatuses } from '../../src/domain/config/endpoint.ts';
import { BATCH_LANE, deliveryGates, LANE, WAITS_FOR_TURN } from '../../src/domain/delivery.ts';
import { asId, type EndpointId, type SubscriptionId } from '../../src/domain/ids.ts';
import type { ProjectRouting } from '../../src/routing/project-routing.ts';
import { gateSets, waitingFor } from '../../src/routing/waiting-for.ts';
import { Where } from '../../src/store/database/list-page.ts';
import { gateColumn } from '../../src/store/history/delivery-gates.ts';
import { createTestDatabase } from '../support/database.ts';
import { NOON } from '../support/samples/leased-delivery.ts';
import { type RoutingFields, routingOf } from '../support/samples/routing.ts';
import { shared } from '../support/shared.ts';

const database = await shared(createTestDatabase());
const HALF_OPEN = NOON + 30_000;

/** Every state of an endpoint, its breaker and its limits. */
function configs(): RoutingFields[] {
  const open: Breaker = { state: 'open', trips: 1, probes: 0, changedAtMs: NOON };
  const breakers = [{}, { breaker: open }, { breaker: { ...open, changedAtMs: NOON - 30_000 } }];
  const batch = { ...USUAL_BATCH, max: 2, max_bytes: 100, max_wait_seconds: 1 };
  const limited = { count: 2, duration: 3 };
  const subscriptions = [
    { rate_limit_config: null },
    { rate_limit_config: limited },
    { rate_limit_config: null, batch },
    { rate_limit_config: limited, batch },
  ];
  const endpoints = endpointStatuses.flatMap((status) =>
    (['push', 'pull', 'device'] as const).flatMap((delivery) =>
      [0, 5].map((rate_limit) => ({ status, delivery, rate_limit, rate_limit_duration: 1 })),
    ),
  );
  const moving = { cell_state: 'draining' as const, endpoint: { rate_limit: 5, rate_limit_duration: 1 } };
  const all = [null, { expires_at: NOON }, { verification: 'challenge' as const }, ...endpoints].flatMap(
    (endpoint) =>
      breakers.flatMap((breaker) =>
        subscriptions.map((subscription) => ({
          endpoint,
          subscription,
          ...breaker,
        })),
      ),
  );
  return [...all, moving];
}

/** Every state of a row: of this or no subscription, due at different times, with a node, a consumer or neither, tried or not. */
const rows = [asId<SubscriptionId>('s'), asId<SubscriptionId>('deleted'), null].flatMap((subscription_id) =>
  [null, NOON - 1, NOON, NOON + 10_000, HALF_OPEN, HALF_OPEN + 1].flatMap((next_send_at) =>
    [
      { is_leased: false, leased_until: null, lane: LANE.first },
      { is_leased: true, leased_until: null, lane: LANE.retry },
      { is_leased: false, leased_until: NOON + 5_000, lane: LANE.leased },
      { is_leased: false, leased_until: null, lane: LANE.first + WAITS_FOR_TURN },
      { is_leased: false, leased_until: null, lane: BATCH_LANE.member },
    ].flatMap((row) =>
      [
        { num_trials: 0, description: null },
        { num_trials: 0, description: 'Not sent.' },
        { num_trials: 1, description: null },
      ].map((tries) => ({
        endpoint_id: asId<EndpointId>('e'),
        subscription_id,
        next_send_at,
        ...row,
        ...tries,
      })),
    ),
  ),
);

/** The gates of the rows, as a list reads them. */
async function listed(routing: ProjectRouting): Promise<string[]> {
  const where = new Where();
  const column = gateColumn(where, gateSets(routing, NOON));
  const deliveries = rows.map(
    ({ endpoint_id, subscription_id, next_send_at, num_trials, description }, n) => ({
      n,
      num_trials,
      description,
      endpoint_id,
      subscription_id,
      next_send_at: next_send_at === null ? null : new Date(next_send_at).toISOString(),
    }),
  );
  const queue = rows.map(({ is_leased, leased_until, lane }, n) => ({
    n,
    lane,
    node_id: is_leased ? 'node' : null,
    pulled_at: leased_until === null ? null : new Date(NOON).toISOString(),
  }));
  const from = where.place(
    `jsonb_to_recordset(?::jsonb) as q(n int, lane int, node_id text, pulled_at timestamptz)
     join jsonb_to_recordset(?::jsonb)
       as d(n int, endpoint_id text, subscription_id text, next_send_at timestamptz, num_trials int, description text) using (n)`,
    JSON.stringify(queue),
    JSON.stringify(deliveries),
  );
  const found = await database.query(`select ${column} as gate from ${from} order by n`, where.values);
  return found.map(({ gate }) => String(gate));
}

test('a list reads the gate that each delivery of it says, in every state', async () => {
  const seen = new Set<string>();
  for (const fields of configs()) {
    const routing = routingOf(fields);
    const said = rows.map((row) => waitingFor(row, { routing, nowMs: NOON })?.gate);
    expect(await listed(routing), JSON.stringify(fields)).toEqual(said);
    for (const gate of said) seen.add(String(gate));
  }
  expect([...seen].sort()).toEqual([...deliveryGates].sort());
});
