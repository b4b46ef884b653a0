import { expect } from 'vitest';
import type { ApiClient, Json } from './client.ts';
import { eventually } from './eventually.ts';

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

/** The delivery of an event that has one, once it has this status. */
export async function deliveryOf(client: ApiClient, event: Json, status = 'Success'): Promise<Json> {
  const { content } = await eventually(
    () => client.get(`/eventdeliveries?eventId=${event.uid}`),
    (page) => page.content[0]?.status === status,
  );
  return content[0];
}
