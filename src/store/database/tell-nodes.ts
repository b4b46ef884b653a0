import type { Queryable } from './database.ts';

export const CONFIG_CHANNEL = 'posthorn_config';

/** At commit the other nodes hear that the config of a project changed, or who may use it. */
export async function tellNodes(tx: Queryable, projectId: string): Promise<void> {
  await tx.query('select pg_notify($1, $2)', [CONFIG_CHANNEL, projectId]);
}
