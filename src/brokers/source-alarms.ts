import { moveSourceAlert } from '../control/alert-changes.ts';
import type { ConfigChanges } from '../control/config-changes.ts';
import type { Logger } from '../platform/logger.ts';
import { readBrokerStatus } from '../store/brokers/broker-status.ts';
import { isAlertRaised } from '../store/config/alerts.ts';
import type { SourceRow } from '../store/config/sources.ts';
import type { Database } from '../store/database/database.ts';

/**
 * Raises an alert when no node has connected to the broker of a source for five minutes. A connection clears it. An
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
const SUMMARIES = {
  source: {
    raised: 'The source has had no connection to its broker for five minutes.',
    cleared: 'The source is connected to its broker again.',
  },
  source_backlog: {
    raised: 'The replication slot of the source makes its database keep more of its log than max_wal_size.',
    cleared: 'The replication slot of the source no longer holds back the log of its database.',
  },
} as const;

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
      const { db } = this.#deps;
      const nodes = (await readBrokerStatus(db, source.project_id, [source.id])).get(source.id) ?? [];
      if (!nodes.some(({ state }) => state === 'running')) await this.#raise(source, 'source', reason);
    });
  }

  async connected(source: Source): Promise<void> {
    this.#failing.delete(source.id);
    await this.#quietly(source, () => this.#raise(source, 'source', null));
  }

  /** `bytes`: that its broker has to keep for it, where they are too many. */
  async holdsBack(source: Source, bytes: number | null): Promise<void> {
    const reason = bytes === null ? null : `It keeps ${bytes} bytes.`;
    await this.#quietly(source, () => this.#raise(source, 'source_backlog', reason));
  }

  forget(sourceId: string): void {
    this.#failing.delete(sourceId);
  }

  /** Null: clears it. */
  async #raise(source: Source, kind: keyof typeof SUMMARIES, reason: string | null): Promise<void> {
    const { db, changes } = this.#deps;
    const { id: subjectId, project_id: projectId } = source;
    if ((reason !== null) === (await isAlertRaised(db, { subjectId, kind, projectId }))) return;
    const state = reason === null ? 'cleared' : 'raised';
    await moveSourceAlert(changes, source, {
      kind,
      state,
      summary: SUMMARIES[kind][state],
      reason: reason ?? '',
    });
  }

  async #quietly(source: Source, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#deps.log.warn({ err: error, source: source.id }, 'the alert of a source could not be stored');
    }
  }
}
