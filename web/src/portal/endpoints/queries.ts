import { api } from '../session.ts';

const EVERY_MS = 10_000;

/** All rows of a list. */
export async function allOf<T>(list: AsyncIterable<T>): Promise<T[]> {
  const rows: T[] = [];
  for await (const row of list) rows.push(row);
  return rows;
}

export const endpointsQuery = {
  queryKey: ['endpoints'],
  queryFn: () => allOf(api.endpoints.list({ sort: 'ASC' })),
  refetchInterval: EVERY_MS,
};

export const endpointQuery = (id: string) => ({
  queryKey: ['endpoint', id],
  queryFn: () => api.endpoints.get(id),
  refetchInterval: EVERY_MS,
});

/** Whether an endpoint that keeps failing is disabled. */
export const configurationQuery = {
  queryKey: ['configuration'],
  queryFn: () => api.portal.getConfiguration(),
  staleTime: 60_000,
};

export const subscriptionsQuery = (endpointId: string) => ({
  queryKey: ['subscriptions', endpointId],
  queryFn: () => allOf(api.subscriptions.list({ endpointId: [endpointId], sort: 'ASC' })),
});
