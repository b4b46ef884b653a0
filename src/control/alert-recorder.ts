import { type Alert, type AlertNotifier, alertData, alertSubject } from '../domain/alert.ts';
import {
  clearAlerts,
  clearAlertsUnder,
  raiseAlerts,
  raiseAlertsOnce,
} from '../store/changes/alert-writes.ts';
import type { ConfigChange } from '../store/changes/config-change.ts';
import { withSavepoint } from '../store/database/unless-too-slow.ts';

/** The service raises one alert per certificate. A new certificate clears the alert for the old one. */
const certificateMoves = { raised: raiseAlertsOnce, cleared: clearAlertsUnder };
const otherMoves = { raised: raiseAlerts, cleared: clearAlerts };

export interface AlertRecorderDeps {
  notifier: AlertNotifier;
  /** Where the dashboard is. */
  publicUrl(): string;
}

/**
 * Moves alerts between raised and cleared, with their meta events, in the transaction of a config change. The
 * caller notifies people after the commit: `notify` with the result of `record`.
 */
export class AlertRecorder {
  readonly #deps: AlertRecorderDeps;

  constructor(deps: AlertRecorderDeps) {
    this.#deps = deps;
  }

  /**
   * One statement for each kind of move. Returns those that moved; the others were in that state before. If
   * the database refuses one, no alert moves, and the transaction can continue.
   */
  async record(change: ConfigChange, alerts: readonly Alert[]): Promise<Alert[]> {
    if (alerts.length === 0) return [];
    const moved = await withSavepoint(change, () => move(change, alerts));
    for (const alert of moved)
      change.endpointEvent(alert.endpoint.id, `alert.${alert.state}`, (state) =>
        alertData(alert, this.#deps.publicUrl(), state),
      );
    return moved;
  }

  notify(alerts: readonly Alert[]): void {
    for (const alert of alerts) this.#deps.notifier.notify(alert);
  }
}

async function move(change: ConfigChange, alerts: readonly Alert[]): Promise<Alert[]> {
  const { projectId, version } = change;
  const moved: Alert[] = [];
  for (const group of Map.groupBy(alerts, ({ kind, state }) => `${kind} ${state}`).values()) {
    const { kind, state } = group[0] as Alert;
    const bySubject = new Map(group.map((alert) => [alertSubject(alert), alert]));
    const keys = [...bySubject.keys()].map((subjectId) => ({ subjectId, kind, projectId }));
    const moves = kind === 'certificate' ? certificateMoves : otherMoves;
    const subjects = (await moves[state](change, keys, version)).map(({ subjectId }) => subjectId);
    moved.push(...movedOf(bySubject, new Set(subjects)));
  }
  return moved;
}

/** A certificate's alerts are cleared together, by the prefix of their subjects. */
function movedOf(bySubject: ReadonlyMap<string, Alert>, subjects: ReadonlySet<string>): Alert[] {
  const beginnings = new Set([...subjects].map((subject) => subject.slice(0, subject.lastIndexOf(' ') + 1)));
  return [...bySubject].flatMap(([subject, alert]) =>
    subjects.has(subject) || beginnings.has(subject) ? [alert] : [],
  );
}
