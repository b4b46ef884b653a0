import type { TestApp } from '../app.ts';
import type { ApiClient, Json } from '../client.ts';
import { eventually } from '../eventually.ts';

/** Opens the breaker as a node would. Nodes learn of it with the project's version. */
export async function openBreaker(of: TestApp, client: ApiClient, endpoint: Json): Promise<void> {
  await of.database.query(
    `with v as (update projects set version = version + 1 where id = $2 returning version)
     insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, probes, changed_at)
     select $1, $2, version, 'open', 1, 0, now() from v`,
    [endpoint.uid, client.projectId],
  );
  await eventually(() => client.get(`/endpoints/${endpoint.uid}`), { cb_state: 'open' });
}
