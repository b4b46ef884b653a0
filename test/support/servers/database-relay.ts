import { join } from 'node:path';
import { inject } from 'vitest';
import { Relay } from './relay.ts';

/** A relay to a database server, by default that of the tests. */
export type DatabaseRelay = Relay & { urlOf(database: string): string };

export async function startDatabaseRelay(
  { host, port, user }: { host: string; port: number; user: string } = inject('postgres'),
): Promise<DatabaseRelay> {
  const relay = await Relay.start(join(host, `.s.PGSQL.${port}`));
  return Object.assign(relay, {
    urlOf: (database: string) => `postgres://${user}@127.0.0.1:${relay.port}/${database}`,
  });
}
