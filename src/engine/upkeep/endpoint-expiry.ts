import type { ConfigChanges } from '../../control/config-changes.ts';
import { tellExpired } from '../../control/endpoint-changes.ts';
import type { ProjectId } from '../../domain/ids.ts';
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
  /** One that was deleted or began to move meanwhile does not keep the others waiting. */
  const tell = async (projectId: ProjectId, ids: readonly string[]): Promise<boolean> => {
    try {
      await tellExpired(deps.changes, projectId, ids);
      return true;
    } catch (error) {
      deps.log.warn(
        { project: projectId, err: error },
        'could not tell of expired endpoints; retrying in 5 s',
      );
      return false;
    }
  };
  const loop: Loop = new Loop({
    turn: async () => {
      for (let read = CHUNK; read === CHUNK && !loop.isStopped; ) {
        const expired = await endpoints.expiredUntold(deps.db, CHUNK);
        read = expired.length;
        for (const [projectId, of] of Map.groupBy(expired, (one) => one.projectId)) {
          const isTold = await tell(
            projectId,
            of.map(({ id }) => id),
          );
          // A whole chunk that fails would be read again at once.
          if (!isTold) read = 0;
        }
      }
    },
    onError: (error) =>
      deps.log.warn({ err: error }, 'could not look for expired endpoints; retrying in 5 s'),
    everyMs: EVERY_MS,
  });
  return loop;
}
