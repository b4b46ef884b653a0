import type { Alert, LastFailure } from '../../domain/alert.ts';
import { changeOf, INSTANCE } from '../../domain/audit.ts';
import { opensBreaker, probesToClose } from '../../domain/circuit-breaker.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import type { AlertRecorder } from '../../routing/alert-recorder.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { type ConfigTx, changeConfig } from '../../store/config/config-version.ts';
import type { EndpointStore } from '../../store/config/endpoints.ts';
import type { MetaEventRecorder } from '../../store/config/meta-event-recorder.ts';
import type { Database } from '../../store/database/database.ts';
import {
  attemptsSince,
  countProbes,
  lockBreakers,
  type Probe,
  releaseProbes,
  type SavedBreaker,
  saveBreakers,
} from '../../store/queue/breakers.ts';
import type { StateItem } from './state-changes.ts';

/**
 * Moves circuit breakers (domain/circuit-breaker.ts has the states) and makes endpoints inactive: all findings of a
 * project together, with a fixed number of statements and one config version at most. The counts are everybody's. States are
 * written under the rows' locks, so of two nodes one moves a breaker; they travel to other nodes with the project's
 * version, like any config.
 */
export interface BreakerChangesDeps {
  db: Database;
  cache: ConfigCache;
  endpoints: EndpointStore;
  ids: IdFactory;
  metaEvents: MetaEventRecorder;
  alerts: AlertRecorder;
  restartCap(endpointId: string): void;
  log: Logger;
}

/**
 * What an outcome says about an endpoint. `seen`: the version of the endpoint that it was sent to; one that was changed
 * or activated since is not made inactive for it. `failure`: null where the probe succeeded.
 */
export type Finding = StateItem & { endpointId: string; seen?: number | undefined } & (
    | { kind: 'failing' | 'gone' | 'exhausted'; last: LastFailure }
    | { kind: 'probed'; probe: Probe; failure: LastFailure | null }
    | { kind: 'not probed'; probe: Probe }
  );

/** What is to change, by endpoint. */
interface Wanted {
  /** `probe`: the one that failed while the breaker was open. */
  open: Map<string, { probe: Probe | null; last: LastFailure }>;
  close: string[];
  disable: Map<string, Cause>;
}

/** Why an endpoint is to become inactive, and how its last attempt ended. */
interface Cause {
  reason: string;
  last: LastFailure;
  /** The version of the endpoint it is about; undefined: any. */
  seen: number | undefined;
}

interface Done {
  opened: SavedBreaker[];
  closed: SavedBreaker[];
  /** Why, by endpoint. */
  disabled: Map<string, string>;
  alerts: Alert[];
}

export class BreakerChanges {
  readonly #deps: BreakerChangesDeps;

  constructor(deps: BreakerChangesDeps) {
    this.#deps = deps;
  }

  async settle(projectId: string, findings: readonly Finding[]): Promise<void> {
    const { db, cache, alerts } = this.#deps;
    const routing = await cache.get(projectId);
    await releaseProbes(
      db,
      findings.flatMap((finding) => (finding.kind === 'not probed' ? [finding.probe] : [])),
    );
    const wanted = await this.#decide(routing, findings);
    if (wanted.open.size + wanted.close.length + wanted.disable.size === 0) return;
    const by = { projectId, actor: INSTANCE };
    const done = await changeConfig(this.#deps, by, async (tx, version) => {
      const breakers = await moveBreakers(tx, wanted, { projectId, version });
      const disabled = await this.#disable(tx, routing, { wanted, version, opened: breakers.opened });
      const told = [...breakerAlerts(routing, wanted, breakers), ...disabled.alerts];
      const result = {
        ...breakers,
        disabled: disabled.reasons,
        alerts: await alerts.record(tx, routing.project, told, version),
      };
      return { result, audit: disabled.audit };
    });
    this.#tell(projectId, done);
    await cache.refreshQuietly(projectId);
  }

  async #decide(routing: ProjectRouting, findings: readonly Finding[]): Promise<Wanted> {
    const wanted: Wanted = { open: new Map(), close: [], disable: new Map() };
    const settings = routing.project.config.circuit_breaker;
    const counted = findings.flatMap((finding) =>
      finding.kind === 'failing' || finding.kind === 'exhausted' ? [finding] : [],
    );
    const attempts = await attemptsSince(
      this.#deps.db,
      counted.map(({ endpointId: id, kind }) => ({
        id,
        afterMs: kind === 'failing' ? routing.breaker(id).changedAtMs : 0,
      })),
      settings.observability_window,
    );
    for (const [n, { endpointId, kind, last, seen }] of counted.entries()) {
      const counts = attempts[n] ?? { successes: 0, failures: 0 };
      if (kind === 'failing' && opensBreaker(counts, settings))
        wanted.open.set(endpointId, { probe: null, last });
      if (kind === 'exhausted' && counts.successes === 0)
        wanted.disable.set(endpointId, { reason: 'a delivery used up its tries', last, seen });
    }
    const succeeded: Probe[] = [];
    for (const finding of findings) {
      const { endpointId } = finding;
      if (finding.kind === 'gone')
        wanted.disable.set(endpointId, {
          reason: 'it answered 410 Gone',
          last: finding.last,
          seen: finding.seen,
        });
      if (finding.kind !== 'probed') continue;
      if (finding.failure === null) succeeded.push(finding.probe);
      else wanted.open.set(endpointId, { probe: finding.probe, last: finding.failure });
    }
    for (const [endpointId, probes] of await countProbes(this.#deps.db, succeeded))
      if (probes >= probesToClose(settings)) wanted.close.push(endpointId);
    return wanted;
  }

  /** Makes inactive what is wanted so, and endpoints whose breaker opened too often in a row. */
  async #disable(
    tx: ConfigTx,
    { project }: ProjectRouting,
    at: { wanted: Wanted; opened: readonly SavedBreaker[]; version: number },
  ) {
    const causes = new Map(at.wanted.disable);
    const { disable_endpoint, circuit_breaker } = project.config;
    for (const { endpoint_id, trips } of disable_endpoint ? at.opened : []) {
      const last = at.wanted.open.get(endpoint_id)?.last;
      if (trips >= circuit_breaker.consecutive_failure_threshold && last !== undefined)
        causes.set(endpoint_id, {
          reason: `its circuit breaker opened ${trips} times in a row`,
          last,
          seen: undefined,
        });
    }
    const changes = await this.#deps.endpoints.disable(tx, { projectId: project.id, ...at }, causes);
    const reasonOf = (id: string) => causes.get(id)?.reason ?? '';
    return {
      reasons: new Map(changes.map(({ after }) => [after.id, reasonOf(after.id)])),
      audit: changes.map(({ before, after }) => {
        const withReason = { ...after, reason: reasonOf(after.id) };
        return changeOf('endpoint.disabled', before, withReason);
      }),
      alerts: changes.map(({ after }): Alert => {
        const { reason, last } = causes.get(after.id) as Cause;
        const summary = `It was made inactive: ${reason}.`;
        const about = { endpoint: after, subscription: null };
        return { kind: 'disabled', state: 'raised', summary, lastFailure: last, ...about };
      }),
    };
  }

  #tell(projectId: string, { opened, closed, disabled, alerts }: Done): void {
    const { log } = this.#deps;
    this.#deps.alerts.notify(alerts);
    for (const { endpoint_id: endpoint, trips } of opened)
      log.warn({ project: projectId, endpoint, trips }, 'circuit breaker opened');
    for (const { endpoint_id: endpoint } of closed) {
      log.info({ project: projectId, endpoint }, 'circuit breaker closed');
      this.#deps.restartCap(endpoint);
    }
    for (const [endpoint, reason] of disabled)
      log.warn({ project: projectId, endpoint, reason }, 'endpoint disabled');
  }
}

/** Opens and closes breakers, except those that another node moved meanwhile. */
async function moveBreakers(
  tx: ConfigTx,
  { open, close }: Wanted,
  at: { projectId: string; version: number },
): Promise<Pick<Done, 'opened' | 'closed'>> {
  const locked = await lockBreakers(tx, [...open.keys(), ...close]);
  const opened = [...open]
    .filter(([id, { probe }]) => {
      const row = locked.get(id);
      return probe === null ? (row?.state ?? 'closed') === 'closed' : row?.fence === probe.fence;
    })
    .map(([id]) => ({ endpoint_id: id, state: 'open' as const, trips: (locked.get(id)?.trips ?? 0) + 1 }));
  const closed = close
    .filter((id) => locked.get(id)?.state === 'open')
    .map((id) => ({ endpoint_id: id, state: 'closed' as const, trips: 0 }));
  await saveBreakers(tx, at, [...opened, ...closed]);
  return { opened, closed };
}

function breakerAlerts(
  routing: ProjectRouting,
  { open }: Wanted,
  { opened, closed }: Pick<Done, 'opened' | 'closed'>,
): Alert[] {
  return [...opened, ...closed].flatMap(({ endpoint_id, state }): Alert[] => {
    const endpoint = routing.endpoints.get(endpoint_id)?.row;
    if (endpoint === undefined) return [];
    const about = { kind: 'breaker', endpoint, subscription: null } as const;
    if (state === 'closed') {
      const summary = 'It answers again, so its circuit breaker closed: deliveries go out.';
      return [{ ...about, state: 'cleared', summary, lastFailure: null }];
    }
    const summary = 'It keeps failing, so its circuit breaker opened: deliveries are held.';
    return [{ ...about, state: 'raised', summary, lastFailure: open.get(endpoint_id)?.last ?? null }];
  });
}
