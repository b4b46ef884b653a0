import { type BreakerMoves, type MovedBreakers, moveBreakers } from '../../control/breaker-moves.ts';
import type { ConfigChange } from '../../control/config-changes.ts';
import { type DisableCause, disableEndpoints } from '../../control/endpoint-changes.ts';
import type { StateChange, StateItem } from '../../control/state-changes.ts';
import type { Alert, LastFailure } from '../../domain/alert.ts';
import { opensBreaker, probesToClose } from '../../domain/config/circuit-breaker.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { attemptsSince, type SeenAttempts } from '../../store/counts/read-counts.ts';
import { countProbes, type Probe, releaseProbes } from '../../store/limits/breakers.ts';
import type { EnginePart } from '../deps/engine-deps.ts';

/**
 * Moves circuit breakers (domain/config/circuit-breaker.ts has the states) and makes endpoints inactive. All
 * findings of a project are handled together, with a fixed number of statements and at most one config
 * version. All nodes share the counts. States are written under row locks, so one of two nodes moves a
 * breaker. They reach other nodes with the project's version, like any config.
 */
export interface BreakerChangesDeps extends EnginePart<'db' | 'cache' | 'changes' | 'log'> {
  restartCap(endpointId: string): void;
}

/**
 * A fact about an endpoint, from an outcome. `seen`: the version of the endpoint it was sent to. An endpoint
 * that was changed or activated since is not made inactive. `failure`: null if the probe succeeded.
 */
export type Finding = StateItem & { endpointId: string; seen?: number | undefined } & (
    | { kind: 'failing' | 'exhausted'; last: LastFailure }
    /** `reason`: why it wants no more deliveries. */
    | { kind: 'gone'; last: LastFailure; reason: string }
    | { kind: 'probed'; probe: Probe; failure: LastFailure | null }
    | { kind: 'not probed'; probe: Probe }
  );

/** The changes to make, by endpoint. */
interface Wanted extends BreakerMoves {
  open: Map<string, { probe: Probe | null; last: LastFailure }>;
  disable: Map<string, DisableCause>;
}

/** Counts of the database over all nodes. */
export interface Counts {
  /** Counted attempts, for each finding that asks for them. */
  attempts: ReadonlyMap<AboutAttempts, SeenAttempts>;
  /** Probes that succeeded in a row, by endpoint. */
  probes: ReadonlyMap<string, number>;
}

interface Done extends MovedBreakers {
  /** The reason, by endpoint. */
  disabled: Map<string, string>;
}

export class BreakerChanges {
  readonly #deps: BreakerChangesDeps;

  constructor(deps: BreakerChangesDeps) {
    this.#deps = deps;
  }

  async look(projectId: ProjectId, findings: readonly Finding[]): Promise<StateChange | null> {
    const { db, cache } = this.#deps;
    const routing = await cache.get(projectId);
    await releaseProbes(
      db,
      findings.flatMap((finding) => (finding.kind === 'not probed' ? [finding.probe] : [])),
    );
    const wanted = await this.#decide(routing, findings);
    if (wanted.open.size + wanted.close.length + wanted.disable.size === 0) return null;
    return { isConfig: true, make: (change) => this.#make(change, routing, wanted) };
  }

  async #make(change: ConfigChange, routing: ProjectRouting, wanted: Wanted) {
    const { changes } = this.#deps;
    const breakers = await moveBreakers(change, wanted);
    await changes.moveAlerts(change, breakerAlerts(routing, wanted, breakers));
    const disabled = await disableEndpoints(changes, change, causesOf(routing, wanted, breakers));
    change.onCommit(() => this.#report(routing.project.id, { ...breakers, disabled: disabled.result }));
    return disabled.audit;
  }

  async #decide(routing: ProjectRouting, findings: readonly Finding[]): Promise<Wanted> {
    const { db } = this.#deps;
    const { observability_window } = routing.project.config.circuit_breaker;
    const asked = findings.filter(isAboutAttempts);
    const attempts = await attemptsSince(db, routing.project.id, {
      endpoints: asked.map((finding) => attemptsAskedFor(routing, finding)),
      minutes: observability_window,
    });
    const succeeded = findings.flatMap((finding) =>
      finding.kind === 'probed' && finding.failure === null ? [finding.probe] : [],
    );
    return wantedChanges(routing, findings, {
      attempts: new Map(asked.map((finding, n) => [finding, attempts[n] ?? { successes: 0, failures: 0 }])),
      probes: await countProbes(db, succeeded),
    });
  }

  #report(projectId: string, { opened, closed, disabled }: Done): void {
    const { log } = this.#deps;
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

/** Why endpoints are to become inactive: as wanted, or because their breaker opened too often in a row. */
function causesOf(
  { project }: ProjectRouting,
  { disable, open }: Wanted,
  { opened }: MovedBreakers,
): Map<string, DisableCause> {
  const causes = new Map(disable);
  const { disable_endpoint, circuit_breaker } = project.config;
  for (const { endpoint_id, trips } of disable_endpoint ? opened : []) {
    const last = open.get(endpoint_id)?.last;
    if (trips >= circuit_breaker.consecutive_failure_threshold && last !== undefined)
      causes.set(endpoint_id, {
        reason: `its circuit breaker opened ${trips} times in a row`,
        last,
        seen: undefined,
      });
  }
  return causes;
}

type AboutAttempts = Extract<Finding, { kind: 'failing' | 'exhausted' }>;

function isAboutAttempts(finding: Finding): finding is AboutAttempts {
  return finding.kind === 'failing' || finding.kind === 'exhausted';
}

/** A breaker is judged by the attempts since it last changed, an endpoint by all of the window. */
export function attemptsAskedFor(
  routing: ProjectRouting,
  { endpointId: id, kind }: Pick<Finding, 'endpointId' | 'kind'>,
): { id: string; afterMs: number } {
  return { id, afterMs: kind === 'failing' ? routing.breaker(id).changedAtMs : 0 };
}

/** The changes that the findings of a project require. */
export function wantedChanges(
  routing: ProjectRouting,
  findings: readonly Finding[],
  { attempts, probes }: Counts,
): Wanted {
  const wanted: Wanted = { open: new Map(), close: [], disable: new Map() };
  const settings = routing.project.config.circuit_breaker;
  for (const [{ endpointId, kind, last, seen }, counts] of attempts) {
    if (kind === 'failing' && opensBreaker(counts, settings))
      wanted.open.set(endpointId, { probe: null, last });
    if (kind === 'exhausted' && counts.successes === 0)
      wanted.disable.set(endpointId, { reason: 'a delivery used up its attempts', last, seen });
  }
  // A 410 and a failed probe say more, so they come last.
  for (const finding of findings) {
    const { endpointId, seen } = finding;
    if (finding.kind === 'gone')
      wanted.disable.set(endpointId, { reason: finding.reason, last: finding.last, seen });
    if (finding.kind === 'probed' && finding.failure !== null)
      wanted.open.set(endpointId, { probe: finding.probe, last: finding.failure });
  }
  for (const [endpointId, count] of probes)
    if (count >= probesToClose(settings)) wanted.close.push(endpointId);
  return wanted;
}

function breakerAlerts(
  routing: ProjectRouting,
  { open }: Wanted,
  { opened, closed }: MovedBreakers,
): Alert[] {
  return [...opened, ...closed].flatMap(({ endpoint_id, state }): Alert[] => {
    const endpoint = routing.endpoints.get(endpoint_id)?.row;
    if (endpoint === undefined) return [];
    const about = { kind: 'breaker', endpoint, subscription: null } as const;
    if (state === 'closed') {
      const summary = 'An attempt succeeded, so its circuit breaker closed. Deliveries are sent.';
      return [{ ...about, state: 'cleared', summary, lastFailure: null }];
    }
    const summary = 'It keeps failing, so its circuit breaker opened. Deliveries wait.';
    return [{ ...about, state: 'raised', summary, lastFailure: open.get(endpoint_id)?.last ?? null }];
  });
}
