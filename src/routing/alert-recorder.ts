import { type Alert, alertData, alertSubject } from '../domain/alert.ts';
import { clearAlert, clearAlertsUnder, raiseAlert, raiseAlertOnce } from '../store/alerts.ts';
import type { ConfigTx } from '../store/config-version.ts';

/** Tells people about an alert, by mail and chat. Returns at once and never fails. */
export interface AlertNotifier {
  notify(alert: Alert): void;
}

/** A certificate is told of once; whichever comes instead clears it. */
const certificateMoves = { raised: raiseAlertOnce, cleared: clearAlertsUnder };
const otherMoves = { raised: raiseAlert, cleared: clearAlert };

/**
 * Moves alerts between raised and cleared, with their meta events, as part of the transaction of a config change.
 * Whoever moved one tells people, after the commit: `notify` what `record` gave back.
 */
export class AlertRecorder {
  readonly #notifier: AlertNotifier;

  constructor(notifier: AlertNotifier) {
    this.#notifier = notifier;
  }

  /** Null where the alert was in that state before. */
  async record(tx: ConfigTx, project: { id: string }, alert: Alert, version: number): Promise<Alert | null> {
    const key = { subjectId: alertSubject(alert), kind: alert.kind, projectId: project.id };
    const moves = alert.kind === 'certificate' ? certificateMoves : otherMoves;
    if (!(await moves[alert.state](tx, key, version))) return null;
    tx.tell(`alert.${alert.state}`, () => alertData(alert, project.id));
    return alert;
  }

  notify(alert: Alert | null): void {
    if (alert !== null) this.#notifier.notify(alert);
  }
}
