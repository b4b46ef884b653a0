import type { ConfigChanges } from '../../control/config-changes.ts';
import { tellExpired } from '../../control/endpoint-changes.ts';
import { Loop } from '../../platform/loop.ts';
import type { Database } from '../../store/database/database.ts';
import { Duty, type DutyDeps } from './duty.ts';

/**
 * Tells the owners of endpoints that have expired. The end itself needs no write: the status follows from the row. So a
 * few seconds do not matter here.
 */
const EVERY_MS = 5_000;
const CHUNK = 500;

export function endpointExpiry(deps: DutyDeps & { db: Database; changes: ConfigChanges }): Loop {
  const { endpoints } = deps.changes.deps;
  const duty = new Duty(deps, { duty: 'endpoint_expiry', retryInMs: EVERY_MS });
  const loop: Loop = new Loop({
    turn: () =>
      duty.eachProject({
        find: (except) => endpoints.expiredUnreported(deps.db, { limit: CHUNK, except }),
        most: CHUNK,
        act: (projectId, expired) =>
          tellExpired(
            deps.changes,
            projectId,
            expired.map(({ id }) => id),
          ),
        isStopped: () => loop.isStopped,
      }),
    onError: (error) => duty.failed(error),
    everyMs: EVERY_MS,
  });
  return loop;
}
