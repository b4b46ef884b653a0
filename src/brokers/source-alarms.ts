import type { ConfigChanges } from '../control/config-changes.ts';
import { moveSourceAlert } from '../control/source-alerts.ts';
import type { Logger } from '../platform/logger.ts';
import { isAlertRaised } from '../store/config/alerts.ts';
import type { SourceRow } from '../store/config/sources.ts';
import type { Database } from '../store/database/database.ts';
import { readBrokerStatus } from '../store/queue/broker-status.ts';

/**
 * Raises an alert of a source that could not connect for five minutes, on no node, and clears it when one connects. An
 * alert that cannot be stored is tried again with the next failure or connection.
 */
export interface SourceAlarmsDeps {
  db: Database;
  changes: ConfigChanges;
  log: Logger;
  /** Five minutes where it is not given. */
  afterMs?: number;
}

const AFTER_MS = 300_000;
const FAILED = 'The source has had no connection to its broker for five minutes.';
const RECOVERED = 'The source is connected to its broker again.';

type Source = Pick<SourceRow, 'id' | 'project_id' | 'name'>;

export class SourceAlarms {
  readonly #deps: SourceAlarmsDeps;
  /** Since when each source fails, by the monotonic clock. */
  readonly #failing = new Map<string, number>();

  constructor(deps: SourceAlarmsDeps) {
    this.#deps = deps;
  }

  async failed(source: Source, reason: string): Promise<void> {
    const now = performance.now();
    const since = this.#failing.get(source.id) ?? now;
    this.#failing.set(source.id, since);
    if (now - since < (this.#deps.afterMs ?? AFTER_MS)) return;
    await this.#quietly(source, async () => {
      const { db, changes } = this.#deps;
      const nodes = (await readBrokerStatus(db, source.project_id, [source.id])).get(source.id) ?? [];
      if (nodes.some(({ state }) => state === 'running') || (await this.#isRaised(source))) return;
      await moveSourceAlert(changes, source, { state: 'raised', summary: FAILED, reason });
    });
  }

  async connected(source: Source): Promise<void> {
    this.#failing.delete(source.id);
    await this.#quietly(source, async () => {
      if (!(await this.#isRaised(source))) return;
      await moveSourceAlert(this.#deps.changes, source, { state: 'cleared', summary: RECOVERED, reason: '' });
    });
  }

  forget(sourceId: string): void {
    this.#failing.delete(sourceId);
  }

  #isRaised({ id, project_id: projectId }: Source): Promise<boolean> {
    return isAlertRaised(this.#deps.db, { subjectId: id, kind: 'source', projectId });
  }

  async #quietly(source: Source, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.log.warn({ err: error, source: source.id }, 'the alert of a source could not be stored');
    }
  }
}
