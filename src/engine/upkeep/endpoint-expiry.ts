import type { ConfigChanges } from '../../control/config-changes.ts';
import { tellExpired } from '../../control/endpoint-changes.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import type { Database } from '../../store/database/database.ts';

/**
 * Tells the owners of endpoints that have expired. The end itself needs no write: the status follows from the row. So a
 * few seconds do not matter here.
 */
const EVERY_MS = 5_000;
const CHUNK = 500;

export function endpointExpiry(deps: { db: Database; changes: ConfigChanges; log: Logger }): Loop {
  const { endpoints } = deps.changes.deps;
  const loop: Loop = new Loop({
    turn: async () => {
      for (let read = CHUNK; read === CHUNK && !loop.isStopped; ) {
        const expired = await endpoints.expiredUntold(deps.db, CHUNK);
        read = expired.length;
        for (const [projectId, of] of Map.groupBy(expired, (one) => one.projectId))
          await tellExpired(
            deps.changes,
            projectId,
            of.map(({ id }) => id),
          );
      }
    },
    onError: (error) =>
      deps.log.warn({ err: error }, 'could not look for expired endpoints; retrying in 5 s'),
    everyMs: EVERY_MS,
  });
  return loop;
}
