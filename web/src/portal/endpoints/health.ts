import { useQuery } from '@tanstack/react-query';
import type { Endpoint, EndpointHealth, LastFailure, PortalLink } from 'posthorn-client';
import { isTroubled } from '../../data/endpoint-status.ts';
import type { EndpointStated } from '../../parts/badges.tsx';
import { useLink } from '../link.ts';
import { api } from '../session.ts';
import { allOf } from './queries.ts';

/*
 * How the endpoints do: one answer, from which every page takes its numbers, so that the same thing has the same number
 * everywhere. It is read more often while something is wrong.
 */
const CALM_MS = 10_000;
const TROUBLE_MS = 3_000;
const HOUR_MS = 3_600_000;
/** The most that one answer has. They are the worst ones. */
const MOST = 1_000;
/** A link for some event types asks for at most this many endpoints. */
const MOST_COUNTED = 100;

type Counted = Pick<EndpointHealth, 'delivered' | 'failed' | 'discarded' | 'failing_since'> & EndpointStated;

/** The deliveries of an endpoint: those that ended in the last 24 hours, and those that wait now. */
export interface Health extends Counted {
  waiting_for: Partial<EndpointHealth['waiting_for']>;
  last_failure: Pick<LastFailure, 'outcome' | 'at'> | null;
}

export interface Healths {
  /** The start of the 24 hours. */
  start: string;
  /** Whether all waiting deliveries were counted. */
  isComplete: boolean;
  /** By endpoint, the worst first. */
  of: ReadonlyMap<string, Health>;
}

export function useHealth() {
  const link = useLink();
  return useQuery({
    queryKey: ['health'],
    queryFn: () => readHealth(link),
    refetchInterval: ({ state: { data } }) =>
      [...(data?.of.values() ?? [])].some(isTrouble) ? TROUBLE_MS : CALM_MS,
  });
}

/** The numbers count whole hours, so the time begins with one. */
async function readHealth(link: PortalLink): Promise<Healths> {
  const startDate = new Date((Math.floor(Date.now() / HOUR_MS) - 24) * HOUR_MS).toISOString();
  // The counters do not tell event types apart, so a link for some types gets counts of its deliveries.
  if (link.event_types.length > 0) return countDeliveries(startDate);
  const { endpoints, complete } = await api.dashboard.getHealth({ startDate, limit: MOST });
  return {
    start: startDate,
    isComplete: complete,
    of: new Map(endpoints.map((one) => [one.endpoint_id, one])),
  };
}

async function countDeliveries(startDate: string): Promise<Healths> {
  const endpoints = (await allOf(api.endpoints.list({ sort: 'ASC' }))).slice(0, MOST_COUNTED);
  const endpointId = endpoints.map(({ uid }) => uid);
  const [rates, { groups }] = await Promise.all([
    api.endpoints.getPeriodFailureRates({ endpointId, startDate }),
    api.eventDeliveries.listFailures({ startDate }),
  ]);
  const found = await Promise.all(
    endpoints.map(async (endpoint): Promise<[string, Health]> => {
      const { uid } = endpoint;
      const rate = rates.find((one) => one.uid === uid);
      const own = groups.filter(({ endpoint_id }) => endpoint_id === uid);
      const last = own.toSorted((a, b) => Date.parse(b.last_at) - Date.parse(a.last_at))[0];
      const mayWait = endpoint.state === 'held' || endpoint.state === 'failing' || own.length > 0;
      const counts = {
        delivered: rate?.success_count ?? 0,
        failed: rate?.failure_count ?? 0,
        discarded: 0,
        waiting_for: mayWait ? await api.eventDeliveries.getWaitingTotals({ endpointId: [uid] }) : {},
        ...stateOf(endpoint),
        last_failure: last === undefined ? null : { outcome: last.outcome, at: last.last_at },
      };
      return [uid, counts];
    }),
  );
  const worstFirst = found.toSorted(([, a], [, b]) => STATES.indexOf(a.state) - STATES.indexOf(b.state));
  return { start: startDate, isComplete: true, of: new Map(worstFirst) };
}

const stateOf = ({ state, held_by, failing_since, recovered_at, sent_since }: Endpoint) => ({
  state,
  held_by,
  failing_since,
  recovered_at,
  sent_since,
});

const STATES: readonly Health['state'][] = ['failing', 'disabled', 'degraded', 'held', 'recovered', 'ok'];

/** The deliveries that can be sent now: those that wait for their next attempt or behind the circuit breaker. */
export const SENDABLE = ['retry', 'circuit_breaker'] as const;

export const sendableOf = ({ waiting_for }: Pick<Health, 'waiting_for'>): number =>
  SENDABLE.reduce((sum, gate) => sum + (waiting_for[gate] ?? 0), 0);

/** An endpoint whose attempts failed for a while is in trouble only as long as a delivery is lost or waits. */
export function isTrouble(health: Health | undefined): boolean {
  if (health?.state !== 'degraded') return health !== undefined && isTroubled(health);
  return health.last_failure !== null && health.failed + sendableOf(health) > 0;
}
