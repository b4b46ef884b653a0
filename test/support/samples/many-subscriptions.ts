import type { TestApp } from '../app.ts';
import { subscribe } from '../app.ts';
import type { ApiClient, Json } from '../client.ts';

/** A project with one endpoint that has many subscriptions to the type `big`. */
export interface ManySubscriptions {
  client: ApiClient;
  endpoint: Json;
  /** Adds as many, numbered from here. */
  add(count: number, from: number): Promise<unknown>;
  send(more?: object): Promise<Json>;
}

export async function manySubscriptions(
  app: Pick<TestApp, 'newProject' | 'database'>,
  count: number,
  { url, paused = true, subscription = {} }: { url: string; paused?: boolean; subscription?: object },
): Promise<ManySubscriptions> {
  const client = await app.newProject();
  const { endpoint } = await subscribe(client, url, { eventTypes: ['other'], subscription });
  if (paused) await client.put(`/endpoints/${endpoint.uid}/pause`);
  const add = (more: number, from: number) =>
    app.database.query(
      `with changed as (update projects set version = version + 1 where id = $1 returning version as now_version)
       insert into subscriptions (id, project_id, version, name, type, status, endpoint_id, source_id, event_types, filter, filters, function, delivery_mode, ordering)
       select left(id, 10) || upper(left(md5(project_id), 8)) || lpad(n::text, 8, '0'), project_id, now_version, name, type, status, endpoint_id, source_id, '{big}', filter, replace(filters::text, '"other"', '"big"')::json, function, delivery_mode, ordering
       from changed, subscriptions, generate_series($3::int, $3 + $2 - 1) n where project_id = $1 and 'other' = any(event_types)`,
      [client.projectId, more, from],
    );
  await add(count, 1);
  const send = (more: object = {}) =>
    client.post('/events', { endpoint_id: endpoint.uid, event_type: 'big', data: {}, ...more });
  return { client, endpoint, add, send };
}
