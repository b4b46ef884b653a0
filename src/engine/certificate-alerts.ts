import { type Alert, certificateSubject } from '../domain/alert.ts';
import type { CertificateSide, SeenCertificate } from '../domain/certificate.ts';
import type { HeldDelivery } from '../domain/event-delivery.ts';
import type { Logger } from '../platform/logger.ts';
import type { OffsetClock } from '../platform/offset-clock.ts';
import type { AlertRecorder } from '../routing/alert-recorder.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { ProjectRouting } from '../routing/project-routing.ts';
import { changeState } from '../store/config-version.ts';
import type { Database } from '../store/database.ts';
import type { MetaEventRecorder } from '../store/meta-event-recorder.ts';
import type { Sent } from './delivery-sender.ts';

/**
 * Watches the certificates that deliveries are sent under: the endpoint's own and the client certificate shown to it.
 * Of each certificate of an endpoint:
 *
 * unknown -> seen within the window before its expiry, it raises its alert;
 * raised  -> nothing more is told of it; the first other certificate that is not about to expire, or none being used
 *            any more, clears all of that side;
 * cleared -> stays so, should it be seen again: old connections and resumed sessions carry it for a while.
 *
 * Nodes learn the states with the project's version. Certificates are read once per connection; an attempt costs two
 * comparisons, and look-ups in memory while its project has such an alert.
 */
export interface CertificateAlertsDeps {
  db: Database;
  metaEvents: MetaEventRecorder;
  cache: ConfigCache;
  alerts: AlertRecorder;
  databaseClock: OffsetClock;
  /** How long before its expiry a certificate is told of; 0: never. */
  config: { certificateDays: number };
  log: Logger;
}

interface Sighting {
  endpointId: string;
  side: CertificateSide;
  seen: SeenCertificate | null;
}

const DAY_MS = 86_400_000;
const SIDES = ['server', 'client'] as const;

export class CertificateAlerts {
  readonly #deps: CertificateAlertsDeps;
  /** By what is being told, so that deliveries at the same time start one telling. */
  readonly #working = new Map<string, Promise<void>>();

  constructor(deps: CertificateAlertsDeps) {
    this.#deps = deps;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#working.values());
  }

  attempted({ projectId, endpointId }: HeldDelivery, { certificates }: Sent): void {
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
    const subject = certificateSubject(endpointId, side, seen?.fingerprint);
    const isRaised = routing.alerts.get(subject);
    if (isExpiring && isRaised === undefined)
      this.#run(subject, () => this.#move(routing, endpointId, raisedOf(side, seen)));
    // The very one can be raised by a node whose window is longer.
    if (!isExpiring && isRaised !== true)
      this.#run(subject, () => this.#move(routing, endpointId, clearedOf(side, seen)));
  }

  async #move(
    { project, endpoints }: ProjectRouting,
    endpointId: string,
    change: Pick<Alert, 'state' | 'summary' | 'certificate'>,
  ): Promise<void> {
    const { cache, alerts, log } = this.#deps;
    const endpoint = endpoints.get(endpointId)?.row;
    if (endpoint === undefined) return;
    const alert = {
      kind: 'certificate',
      endpoint,
      subscription: null,
      lastFailure: null,
      ...change,
    } as const;
    const told = await changeState(this.#deps, project.id, (tx, version) =>
      alerts.record(tx, project, alert, version),
    );
    alerts.notify(told);
    if (told !== null) log.info({ project: project.id, endpoint: endpointId }, `alert ${change.state}`);
    await cache.refreshQuietly(project.id);
  }

  /** An alert that cannot be moved now is tried again with the next attempt. */
  #run(subject: string, work: () => Promise<void>): void {
    if (this.#working.has(subject)) return;
    const working = work()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'alert could not be updated'))
      .finally(() => this.#working.delete(subject));
    this.#working.set(subject, working);
  }
}

const NAMES: Record<CertificateSide, string> = {
  server: "The endpoint's certificate",
  client: 'The client certificate shown to the endpoint',
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
