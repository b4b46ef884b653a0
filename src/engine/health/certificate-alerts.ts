import type { StateChange, StateItem, StateKind } from '../../control/state-changes.ts';
import { type Alert, certificateSubject } from '../../domain/alert.ts';
import type { CertificateSide, SeenCertificate } from '../../domain/certificate.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { OffsetClock } from '../../platform/time/offset-clock.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { Tried } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { alertMoves } from './alert-moves.ts';

/**
 * Watches the certificates of deliveries: the endpoint's own and our client certificate. States of each
 * certificate:
 * unknown -> if it is seen within the window before its expiry, it raises its alert;
 * raised  -> it raises no more. The first other certificate that does not expire soon, or none being used any more,
 *            clears all alerts of that side;
 * cleared -> stays cleared if it is seen again: old connections and resumed sessions present it for a while.
 *
 * Nodes learn the states with the project's version. Certificates are read once per connection. An attempt
 * costs two comparisons, plus lookups in memory while its project has such an alert.
 */
export interface CertificateAlertsDeps extends EnginePart<'cache' | 'changes' | 'log'> {
  databaseClock: Pick<OffsetClock, 'now'>;
  /** How long before its expiry a certificate raises its alert. 0: never. */
  config: { certificateDays: number };
}

interface Sighting {
  endpointId: string;
  side: CertificateSide;
  seen: SeenCertificate | null;
}

interface Move extends StateItem {
  endpointId: string;
  change: Pick<Alert, 'state' | 'summary' | 'certificate'>;
}

const DAY_MS = 86_400_000;
const SIDES = ['server', 'client'] as const;

export class CertificateAlerts {
  readonly #deps: CertificateAlertsDeps;
  readonly #moves: StateKind<Move>;

  constructor(deps: CertificateAlertsDeps) {
    this.#deps = deps;
    this.#moves = deps.changes.states.kind((id, moves) => this.#move(id, moves));
  }

  attempted({ delivery: { projectId, endpointId }, exchange }: Tried): void {
    const { certificates } = exchange.outcome;
    if (!certificates) return;
    const routing = this.#deps.cache.peek(projectId);
    if (routing === undefined) return;
    for (const side of SIDES) this.#look(routing, { endpointId, side, seen: certificates[side] });
  }

  #look(routing: ProjectRouting, { endpointId, side, seen }: Sighting): void {
    const { databaseClock, config } = this.#deps;
    const isExpiring =
      seen !== null && seen.expiresAtMs - databaseClock.now() < config.certificateDays * DAY_MS;
    if (!isExpiring && !routing.hasExpiring(endpointId, side)) return;
    const key = certificateSubject(endpointId, side, seen?.fingerprint);
    const isRaised = routing.alerts.get(key)?.isRaised;
    const at = { projectId: routing.project.id, endpointId, key };
    if (isExpiring && isRaised === undefined) this.#moves.add({ ...at, change: raisedOf(side, seen) });
    // A node with a longer window may have raised the same certificate.
    if (!isExpiring && isRaised !== true) this.#moves.add({ ...at, change: clearedOf(side, seen) });
  }

  async #move(projectId: ProjectId, moves: readonly Move[]): Promise<StateChange | null> {
    const { cache, changes } = this.#deps;
    const { endpoints } = await cache.get(projectId);
    const wanted = moves.flatMap(({ endpointId, change }): Alert[] => {
      const endpoint = endpoints.get(endpointId)?.row;
      if (endpoint === undefined) return [];
      return [{ kind: 'certificate', endpoint, subscription: null, lastFailure: null, ...change }];
    });
    if (wanted.length === 0) return null;
    return alertMoves(this.#deps, (change) => changes.moveAlerts(change, wanted));
  }
}

const NAMES: Record<CertificateSide, string> = {
  server: "The endpoint's certificate",
  client: 'The client certificate for the endpoint',
};
const day = ({ expiresAtMs }: SeenCertificate) => new Date(expiresAtMs).toISOString();

function raisedOf(side: CertificateSide, seen: SeenCertificate) {
  const summary = `${NAMES[side]} (${seen.subject}) expires on ${day(seen)}.`;
  return { state: 'raised', summary, certificate: { side, seen } } as const;
}

function clearedOf(side: CertificateSide, seen: SeenCertificate | null) {
  const summary =
    seen === null
      ? `${NAMES[side]} is no longer used.`
      : `${NAMES[side]} was renewed (${seen.subject}); it expires on ${day(seen)}.`;
  return { state: 'cleared', summary, certificate: { side, seen } } as const;
}
