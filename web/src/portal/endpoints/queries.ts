import type { Endpoint } from 'posthorn-client';
import { api } from '../session.ts';

const EVERY_MS = 10_000;
const DAY_MS = 86_400_000;
/** More are not asked for at once. */
const MAX_COUNTED = 100;

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const rows: T[] = [];
  for await (const row of list) rows.push(row);
  return rows;
}

export const endpointsQuery = {
  queryKey: ['endpoints'],
  queryFn: () => all(api.endpoints.list({ sort: 'ASC' })),
  refetchInterval: EVERY_MS,
};

export const endpointQuery = (id: string) => ({
  queryKey: ['endpoint', id],
  queryFn: () => api.endpoints.get(id),
  refetchInterval: EVERY_MS,
});

/** The deliveries of the last 24 hours that succeeded and failed, by endpoint. */
export const dayQuery = (endpoints: readonly Endpoint[]) => ({
  queryKey: ['day', endpoints.map(({ uid }) => uid)],
  queryFn: async () => {
    const endpointId = endpoints.slice(0, MAX_COUNTED).map(({ uid }) => uid);
    const startDate = new Date(Date.now() - DAY_MS).toISOString();
    const rates = await api.endpoints.getPeriodFailureRates({ endpointId, startDate });
    return new Map(rates.map((rate) => [rate.uid, rate]));
  },
  enabled: endpoints.length > 0,
  refetchInterval: EVERY_MS,
});

/** Why deliveries of the last 24 hours fail. The largest group comes first. */
export const failuresQuery = {
  queryKey: ['failures'],
  queryFn: () => api.eventDeliveries.listFailures(),
  refetchInterval: EVERY_MS,
};

/** Whether an endpoint that keeps failing is disabled. */
export const configurationQuery = {
  queryKey: ['configuration'],
  queryFn: () => api.portal.getConfiguration(),
  staleTime: 60_000,
};

export const subscriptionsQuery = (endpointId: string) => ({
  queryKey: ['subscriptions', endpointId],
  queryFn: () => all(api.subscriptions.list({ endpointId: [endpointId], sort: 'ASC' })),
});
