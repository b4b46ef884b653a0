import type { ConfigChanges } from '../../control/config-changes.ts';
import { tidyDevices } from '../../control/device-changes.ts';
import type { Logger } from '../../platform/logger.ts';
import { Loop } from '../../platform/loop.ts';
import { unseenDevices } from '../../store/config/devices.ts';
import type { Database } from '../../store/database/database.ts';

/**
 * Switches off the subscriptions of devices that are gone, so that a forgotten laptop costs nothing. The table of
 * devices is small, and the query reads only those that were not seen for ten minutes. A look that finds one wakes it.
 */
export function deviceWatch(deps: { db: Database; changes: ConfigChanges; log: Logger }): Loop {
  return new Loop({
    turn: async () => {
      for (const unseen of await unseenDevices(deps.db)) await tidyDevices(deps.changes, unseen);
    },
    onError: (error) => deps.log.warn({ err: error }, 'could not look for unseen devices; retrying in 1 s'),
  });
}
