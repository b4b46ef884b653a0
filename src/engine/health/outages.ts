import type { ConfigChange } from '../../control/config-changes.ts';
import { cleared, type DisableCause, disableEndpoints } from '../../control/endpoint-changes.ts';
import type { StateChange, StateItem, StateKind } from '../../control/state-changes.ts';
import { type Alert, type LastFailure, OUTAGE, outageSubject } from '../../domain/alert.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { parseGoDuration } from '../../platform/time/duration.ts';
import type { OffsetClock } from '../../platform/time/offset-clock.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { type Outage, outagesOf } from '../../store/counts/outages.ts';
import { lastFailure, type Tried } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';

/**
 * Disables endpoints at which no attempt succeeded for `disable_after` of their project. States of each:
 * quiet    -> a failed attempt makes the node look at the counts, at most once in a twentieth of that time or 10 min.
 *             No success for half of the time, or a day if that is shorter: the alert is raised.
 * raised   -> a success clears it. So does a look that finds one of a node that did not know of the alert. A failed attempt
 *             after the rest of the time makes the endpoint inactive.
 * inactive -> the activation of the endpoint clears it, and the time begins again, as it does with every change.
 *
 * The start is in the alert, because the counts may be kept for a shorter time than `disable_after`.
 */
export interface OutagesDeps extends EnginePart<'db' | 'cache' | 'changes' | 'log'> {
  databaseClock: Pick<OffsetClock, 'now'>;
}

interface Look extends StateItem {
  endpointId: string;
  /** Null: it succeeded. */
  last: LastFailure | null;
  seen: number | undefined;
}

const DAY_MS = 86_400_000;
const MAX_LOOK_MS = 600_000;
const MAX_WATCHED = 100_000;

export class Outages {
  readonly #deps: OutagesDeps;
  /** When each failing endpoint is looked at next. */
  readonly #nextLook = new BoundedMap<string, number>(MAX_WATCHED);
  readonly #looks: StateKind<Look>;

  constructor(deps: OutagesDeps) {
    this.#deps = deps;
    this.#looks = deps.changes.states.kind((id, looks) => this.#settle(id, looks));
  }

  attempted(sent: Tried): void {
    const { projectId, endpointId } = sent.delivery;
    const routing = this.#deps.cache.peek(projectId);
    if (routing === undefined) return;
    const seen = routing.endpoints.get(endpointId)?.row.version;
    if (sent.verdict === 'success') {
      if (routing.alerts.size > 0 && routing.alerts.get(outageSubject(endpointId))?.isRaised === true)
        this.#looks.add({ projectId, endpointId, seen, last: null, key: `success ${endpointId}` });
      return;
    }
    const nowMs = this.#deps.databaseClock.now();
    if (routing.project.config.disable_after === '' || nowMs < (this.#nextLook.get(endpointId) ?? 0)) return;
    const { afterMs } = timesOf(routing);
    this.#nextLook.set(endpointId, nowMs + Math.min(afterMs / 20, MAX_LOOK_MS));
    this.#looks.add({ projectId, endpointId, seen, last: lastFailure(sent), key: `failure ${endpointId}` });
  }

  async #settle(projectId: ProjectId, looks: readonly Look[]): Promise<StateChange | null> {
    const { db, cache, changes, databaseClock } = this.#deps;
    const routing = await cache.get(projectId);
    const failed = looks.filter(({ last }) => last !== null).map(({ endpointId }) => endpointId);
    const isOn = routing.project.config.disable_after !== '' && failed.length > 0;
    const outages = isOn ? await outagesOf(db, projectId, failed) : [];
    const { alerts, causes } = wantedMoves(routing, { looks, outages, nowMs: databaseClock.now() });
    if (alerts.length + causes.size === 0) return null;
    const make = async (change: ConfigChange) => {
      await changes.moveAlerts(change, alerts);
      const { result, audit } = await disableEndpoints(changes, change, causes);
      change.onCommit(() => this.#report(projectId, result));
      return audit;
    };
    return { isConfig: causes.size > 0, make };
  }

  #report(projectId: ProjectId, disabled: ReadonlyMap<string, string>): void {
    for (const [endpoint, reason] of disabled)
      this.#deps.log.warn({ project: projectId, endpoint, reason }, 'endpoint disabled');
  }
}

/** When an endpoint is warned of, and when it is disabled, after its attempts began to fail. */
function timesOf({ project }: ProjectRouting): { afterMs: number; warnMs: number } {
  const afterMs = parseGoDuration(project.config.disable_after) ?? Number.POSITIVE_INFINITY;
  return { afterMs, warnMs: Math.min(afterMs / 2, DAY_MS) };
}

/** The alerts to move and the endpoints to disable. */
export function wantedMoves(
  routing: ProjectRouting,
  { looks, outages, nowMs }: { looks: readonly Look[]; outages: readonly Outage[]; nowMs: number },
): { alerts: Alert[]; causes: Map<string, DisableCause> } {
  const { afterMs, warnMs } = timesOf(routing);
  const causes = new Map<string, DisableCause>();
  const alerts: (Alert | undefined)[] = looks
    .filter(({ last }) => last === null)
    .map(({ endpointId }) => ended(routing, endpointId));
  const looked = new Map(looks.map((look) => [look.endpointId, look]));
  for (const { id, failing_since, warned_at, has_succeeded } of outages) {
    const { last = null, seen } = looked.get(id) ?? {};
    if (failing_since === null || last === null) continue;
    if (warned_at === null) {
      if (nowMs - failing_since >= warnMs)
        alerts.push(raised(routing, id, { failing_since, last, until: nowMs + afterMs - warnMs }));
    } else if (has_succeeded) alerts.push(ended(routing, id));
    else if (nowMs - warned_at >= afterMs - warnMs)
      causes.set(id, {
        reason: `no attempt succeeded for ${routing.project.config.disable_after}`,
        last,
        seen,
      });
  }
  return { alerts: alerts.filter((alert) => alert !== undefined), causes };
}

function ended({ endpoints }: ProjectRouting, id: string): Alert | undefined {
  const endpoint = endpoints.get(id)?.row;
  return endpoint && cleared(OUTAGE, endpoint, 'An attempt succeeded again.');
}

function raised(
  { endpoints }: ProjectRouting,
  id: string,
  of: { failing_since: number; until: number; last: LastFailure },
): Alert | undefined {
  const endpoint = endpoints.get(id)?.row;
  if (endpoint === undefined) return undefined;
  const [since, until] = [of.failing_since, of.until].map((ms) => new Date(ms).toISOString());
  const summary = `No attempt has succeeded since ${since}. Unless one does, it is made inactive at ${until}.`;
  return { kind: OUTAGE, state: 'raised', endpoint, subscription: null, summary, lastFailure: of.last };
}
