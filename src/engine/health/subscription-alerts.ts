import type { ConfigChange } from '../../control/config-changes.ts';
import type { StateChange, StateItem, StateKind } from '../../control/state-changes.ts';
import type { Alert, LastFailure } from '../../domain/alert.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { parseGoDuration } from '../../platform/time/duration.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { countFailures, forgetFailures } from '../../store/limits/alert-failures.ts';
import { lastFailure, type Tried } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { alertMoves } from './alert-moves.ts';

/**
 * Watches the subscriptions that have an alert_config. States of each:
 * quiet  -> failed attempts are counted in the database, over all nodes. `count` within `threshold` raise the alert.
 *           A node counts all subscriptions of a project together. Failures meanwhile are added to the next count.
 * raised -> nothing is counted. The first success clears it. Nodes learn the state with the project's version.
 *
 * An attempt that succeeds while nothing is raised costs two lookups in memory.
 */
export type SubscriptionAlertsDeps = EnginePart<'db' | 'cache' | 'changes' | 'log'>;

interface Uncounted {
  failures: number;
  last: LastFailure;
}

interface Asked extends StateItem {
  id: string;
  kind: 'count' | 'clear';
}

export class SubscriptionAlerts {
  readonly #deps: SubscriptionAlertsDeps;
  /** Failures to be counted, by subscription. */
  readonly #uncounted = new Map<string, Uncounted>();
  readonly #asked: StateKind<Asked>;

  constructor(deps: SubscriptionAlertsDeps) {
    this.#deps = deps;
    this.#asked = deps.changes.states.kind((id, asked) => this.#look(id, asked));
  }

  attempted(sent: Tried): void {
    const { delivery } = sent;
    const id = delivery.subscriptionId;
    const routing = id === null ? undefined : this.#deps.cache.peek(delivery.projectId);
    if (id === null || routing === undefined) return;
    const { projectId } = delivery;
    const isRaised = routing.alerts.get(id)?.isRaised === true;
    if (sent.verdict === 'success') {
      if (isRaised) this.#asked.add({ projectId, id, kind: 'clear', key: `clear ${id}` });
      return;
    }
    if (isRaised || (routing.subscriptions.get(id)?.row.alert_config?.count ?? 0) === 0) return;
    const failures = (this.#uncounted.get(id)?.failures ?? 0) + 1;
    this.#uncounted.set(id, { failures, last: lastFailure(sent) });
    this.#asked.add({ projectId, id, kind: 'count', key: `count ${id}` });
  }

  async #look(projectId: ProjectId, asked: readonly Asked[]): Promise<StateChange | null> {
    const counted = asked.filter(({ kind }) => kind === 'count').map(({ id }) => id);
    // Read in the same step in which the item stops waiting, so a later failure requests another count.
    const uncounted = new Map(counted.map((id) => [id, this.#uncounted.get(id)]));
    for (const id of counted) this.#uncounted.delete(id);
    const routing = await this.#deps.cache.get(projectId);
    const raised = await this.#count(routing, uncounted);
    const cleared = asked.filter(({ kind }) => kind === 'clear').map(({ id }) => clearedOf(routing, id));
    const wanted = [...raised, ...cleared].filter((alert) => alert !== undefined);
    if (wanted.length === 0) return null;
    return alertMoves(this.#deps, (change) => this.#move(change, wanted));
  }

  /** Counts failures and returns the alerts to raise. */
  async #count(
    routing: ProjectRouting,
    uncounted: ReadonlyMap<string, Uncounted | undefined>,
  ): Promise<(Alert | undefined)[]> {
    const added = [...uncounted].flatMap(([subscriptionId, counts]) => {
      const config = routing.subscriptions.get(subscriptionId)?.row.alert_config ?? null;
      const thresholdMs = parseGoDuration(config?.threshold ?? '');
      if (counts === undefined || config === null || thresholdMs === null) return [];
      if (routing.alerts.get(subscriptionId)?.isRaised === true) return [];
      return [{ subscriptionId, config, thresholdMs, ...counts }];
    });
    if (added.length === 0) return [];
    const counted = await countFailures(this.#deps.db, routing.project.id, added);
    return added
      .filter(({ subscriptionId, config }) => (counted.get(subscriptionId) ?? 0) >= config.count)
      .map(({ subscriptionId, config, last }) => {
        const attempts = config.count === 1 ? '1 attempt' : `${config.count} attempts`;
        const summary = `${attempts} failed within ${config.threshold}.`;
        return alertOf(routing, subscriptionId, { state: 'raised', summary, lastFailure: last });
      });
  }

  async #move(change: ConfigChange, wanted: readonly Alert[]): Promise<readonly Alert[]> {
    const ids = wanted.flatMap(({ subscription }) => subscription?.id ?? []);
    await forgetFailures(change, change.projectId, ids);
    return this.#deps.changes.moveAlerts(change, wanted);
  }
}

const clearedOf = (routing: ProjectRouting, id: string) =>
  alertOf(routing, id, { state: 'cleared', summary: 'An attempt succeeded again.', lastFailure: null });

function alertOf(
  routing: ProjectRouting,
  subscriptionId: string,
  change: Pick<Alert, 'state' | 'summary' | 'lastFailure'>,
): Alert | undefined {
  const row = routing.subscriptions.get(subscriptionId)?.row;
  const endpoint = row && routing.endpoints.get(row.endpoint_id)?.row;
  if (row === undefined || endpoint === undefined) return undefined;
  return { kind: 'failures', endpoint, subscription: { id: row.id, name: row.name }, ...change };
}
