import type { Endpoint, ListFailuresResult } from 'posthorn-client';

/** Why an endpoint fails, by its latest failure, and how many deliveries of all causes. */
export interface EndpointFailure {
  outcome: string;
  count: number;
  lastAt: string;
}

export function failureOf(
  failures: Pick<ListFailuresResult, 'groups'> | undefined,
  endpointId: string,
): EndpointFailure | undefined {
  const groups = (failures?.groups ?? []).filter(({ endpoint_id }) => endpoint_id === endpointId);
  const latest = groups.toSorted((a, b) => Date.parse(b.last_at) - Date.parse(a.last_at))[0];
  if (latest === undefined) return undefined;
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  return { outcome: latest.outcome, count, lastAt: latest.last_at };
}

/** The deliveries of the last 24 hours. */
export interface DayCounts {
  success_count: number;
  failure_count: number;
  /** Those that failed and wait for their next attempt. */
  retry_count: number;
}

/** An endpoint of which more fails than succeeds is failing, also before its circuit breaker opens. */
export const isFailing = ({ cb_state }: Pick<Endpoint, 'cb_state'>, counts: DayCounts | undefined): boolean =>
  cb_state === 'open' ||
  (counts !== undefined && counts.failure_count + counts.retry_count > counts.success_count);
