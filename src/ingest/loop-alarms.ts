import { moveSourceAlert } from '../control/alert-changes.ts';
import type { ConfigChanges } from '../control/config-changes.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import type { Logger } from '../platform/logger.ts';
import type { SourceRow } from '../store/config/sources.ts';

/**
 * Raises an alert of a source that an event came back to too often. Nothing shows that a loop is gone, so the alert is
 * never cleared: after a day it is raised again. An alert that cannot be stored is tried again with the next event.
 */
const DAY_MS = 86_400_000;
const MAX_SOURCES = 10_000;
const SUMMARY = 'Events of the source come back to it: the URL of an endpoint leads to an ingest URL.';

export class LoopAlarms {
  readonly #deps: { changes: ConfigChanges; log: Logger };
  /** When this node raised it last, by the monotonic clock. */
  readonly #raised = new BoundedMap<string, number>(MAX_SOURCES);

  constructor(deps: { changes: ConfigChanges; log: Logger }) {
    this.#deps = deps;
  }

  async raise(source: Pick<SourceRow, 'id' | 'project_id' | 'name'>, reason: string): Promise<void> {
    const now = performance.now();
    if (now - (this.#raised.get(source.id) ?? -DAY_MS) < DAY_MS) return;
    this.#raised.set(source.id, now);
    const { changes, log } = this.#deps;
    try {
      await moveSourceAlert(changes, source, {
        kind: 'source_loop',
        state: 'raised',
        summary: SUMMARY,
        reason,
      });
    } catch (error) {
      this.#raised.delete(source.id);
      log.warn({ err: error, source: source.id }, 'the alert of a source could not be stored');
    }
  }
}
