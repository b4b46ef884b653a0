import type { ConfigChange } from '../../control/config-changes.ts';
import type { StateChange } from '../../control/state-changes.ts';
import type { Alert } from '../../domain/alert.ts';
import type { EnginePart } from '../deps/engine-deps.ts';

/** A change that only moves alerts, and logs those that moved once it is committed. */
export const alertMoves = (
  { log }: EnginePart<'log'>,
  move: (change: ConfigChange) => Promise<readonly Alert[]>,
): StateChange => ({
  isConfig: false,
  make: async (change) => {
    const moved = await move(change);
    change.onCommit(() => {
      for (const { endpoint, subscription, state } of moved) {
        const of = subscription === null ? { endpoint: endpoint.id } : { subscription: subscription.id };
        log.info({ project: change.projectId, ...of }, `alert ${state}`);
      }
    });
    return [];
  },
});
