import { type Alert, alertData, alertSubject } from '../domain/alert.ts';
import { clearAlert, raiseAlert } from '../store/alerts.ts';
import type { Queryable } from '../store/database.ts';
import type { ProjectRow } from '../store/projects.ts';
import type { MetaEventRecorder } from './meta-event-recorder.ts';

/** Tells people about an alert, by mail and chat. Returns at once and never fails. */
export interface AlertNotifier {
  notify(alert: Alert): void;
}

/**
 * Moves alerts between raised and cleared, with their meta events, as part of the transaction of a config change.
 * Whoever moved one tells people, after the commit: `notify` what `record` gave back.
 */
export class AlertRecorder {
  readonly #deps: { metaEvents: MetaEventRecorder; notifier: AlertNotifier };

  constructor(deps: { metaEvents: MetaEventRecorder; notifier: AlertNotifier }) {
    this.#deps = deps;
  }

  /** Null where the alert was in that state before. */
  async record(tx: Queryable, project: ProjectRow, alert: Alert, version: number): Promise<Alert | null> {
    const key = { subjectId: alertSubject(alert), kind: alert.kind, projectId: project.id };
    const move = alert.state === 'raised' ? raiseAlert : clearAlert;
    if (!(await move(tx, key, version))) return null;
    await this.#deps.metaEvents.record(tx, project, {
      type: `alert.${alert.state}`,
      data: () => alertData(alert, project.id),
    });
    return alert;
  }

  notify(alert: Alert | null): void {
    if (alert !== null) this.#deps.notifier.notify(alert);
  }
}
