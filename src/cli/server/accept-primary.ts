import { IdFactory } from '../../domain/ids.ts';
import { createLogger } from '../../platform/logger.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import { connectionTo } from '../../start/open-database.ts';
import { insertAudit } from '../../store/audit/audit-entries.ts';
import { connectForCopy } from '../../store/backup/connect-for-copy.ts';
import type { Queryable } from '../../store/database/database.ts';
import { SILENT_SECONDS } from '../../store/database/node-lease.ts';
import { acceptPrimary } from '../../store/database/servers/accept-primary.ts';
import { LOOK, type ServerState } from '../../store/database/servers/server-look.ts';
import { Servers } from '../../store/database/servers/servers.ts';
import { databaseTime, liveNodes } from '../../store/queue/nodes.ts';
import type { Given } from '../terminal/command.ts';
import { line } from '../terminal/output.ts';
import { userName } from './call-api.ts';
import { cellConfig } from './each-cell.ts';

/** Nodes that refuse an old primary look at it all the time, and find the mark that this writes. */
export async function acceptPrimaryCommand(home: Config, given: Given): Promise<void> {
  const config = await cellConfig(home, given.text('cell') ?? '');
  const url = config.databaseUrl?.reveal();
  if (url === undefined || Servers.of(url, { log: createLogger('warn') }) === null)
    throw new StartupError(
      'nodes use this database as it is, because its URL names one server without target_session_attrs: there is nothing to accept',
    );
  const { client, db } = await connectForCopy(connectionTo(url, config));
  try {
    const server = `${client.host}:${client.port}`;
    await refuseUsed(db, server);
    const timeline = await accept(db, server);
    line(
      `Accepted ${server} (timeline ${timeline}). The nodes begin again with it within seconds. Never let the newer primary come back as one: what it alone had accepted is on its disk only.`,
    );
  } finally {
    await client.end();
  }
}

async function refuseUsed(db: Queryable, server: string): Promise<void> {
  const nodes = await liveNodes(db, SILENT_SECONDS);
  if (nodes.length > 0)
    throw new StartupError(
      `${nodes.length} nodes use the primary at ${server}: there is nothing to accept; restart a node that does not`,
    );
}

/** Its timeline. */
async function accept(db: Queryable, server: string): Promise<number> {
  const nowMs = await databaseTime(db);
  await db.query('begin');
  const [state] = await db.query<ServerState>(LOOK);
  if (state === undefined) throw new Error('the database has not answered the look at it');
  await acceptPrimary(db, state);
  const place = {
    ids: new IdFactory(() => nowMs),
    actor: { type: 'cli', id: userName() },
    projectId: null,
  } as const;
  const after = { server, timeline: state.timeline, lsn: state.lsn };
  await insertAudit(db, place, [{ action: 'primary.accepted', resourceId: null, before: null, after }]);
  await db.query('commit');
  return state.timeline;
}
