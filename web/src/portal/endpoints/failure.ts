import type { ListFailuresResult } from 'posthorn-client';

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
