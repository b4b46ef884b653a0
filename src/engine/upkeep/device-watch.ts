import type { ConfigChanges } from '../../control/config-changes.ts';
import { tidyDevices } from '../../control/device-changes.ts';
import { Loop } from '../../platform/loop.ts';
import { unseenDevices } from '../../store/config/devices.ts';
import type { Database } from '../../store/database/database.ts';
import { Duty, type DutyDeps } from './duty.ts';

/** That of the look that wakes it. */
const RETRY_MS = 1_000;

/**
 * Switches off the subscriptions of devices that are gone, so that a forgotten laptop costs nothing. The table of
 * devices is small, and the query reads only those that were not seen for ten minutes. A look that finds one wakes it.
 */
export function deviceWatch(deps: DutyDeps & { db: Database; changes: ConfigChanges }): Loop {
  const duty = new Duty(deps, { duty: 'devices', retryInMs: RETRY_MS });
  const loop: Loop = new Loop({
    turn: () =>
      duty.eachProject({
        find: () => unseenDevices(deps.db),
        act: (_, [unseen]) => tidyDevices(deps.changes, unseen),
        isStopped: () => loop.isStopped,
      }),
    onError: (error) => duty.failed(error),
  });
  return loop;
}
