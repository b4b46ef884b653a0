import { expect } from 'vitest';
import type { ApiClient, Json } from './client.ts';
import { eventually } from './eventually.ts';

/** The answer to a GET, once it has these fields. */
export const shown = (client: Pick<ApiClient, 'get'>, path: string, fields: object): Promise<Json> =>
  eventually(() => client.get(path), fields);

/** A job once it has ended. */
export const endedJob = (client: ApiClient, { uid }: Json): Promise<Json> =>
  eventually(
    () => client.get(`/jobs/${uid}`),
    ({ status }) => status !== 'queued' && status !== 'running',
  );

export async function completedJob(client: ApiClient, job: Json): Promise<Json> {
  const ended = await endedJob(client, job);
  expect(ended.status).toBe('completed');
  return ended;
}

/** The newest delivery of a list, once it has one of these states. */
export async function newestDelivery(client: ApiClient, query: string, ...states: string[]): Promise<Json> {
  const { content } = await eventually(
    () => client.get(`/eventdeliveries?${query}`),
    (page) => states.includes(page.content[0]?.status),
  );
  return content[0];
}

/** The delivery of an event that has one, once it has this status. */
export const deliveryOf = (client: ApiClient, { uid }: Json, status = 'Success'): Promise<Json> =>
  newestDelivery(client, `eventId=${uid}`, status);
