import { type AuditNote, INSTANCE } from '../domain/audit.ts';
import { isProjectAway } from '../domain/errors.ts';
import type { ProjectId } from '../domain/ids.ts';
import { Batcher } from '../platform/batcher.ts';
import type { Logger } from '../platform/logger.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { Changed } from '../store/audit/audit-entries.ts';
import type { ChangeAuthor, ConfigChange } from '../store/changes/config-change.ts';

/**
 * Changes of state that outcomes of deliveries and connections of sources request: breakers, alerts, endpoints that become
 * inactive. All kinds share this batcher.
 * waiting -> items wait for the running batch. There is one batch at a time, so all of this work uses one connection
 *            for any number of failing endpoints. An item whose key waits already is dropped.
 * batch   -> shared evenly by the waiting projects. Each kind looks at all its items of a project at once. The changes of
 *            all kinds are one transaction and one config version of the project. If it fails, each kind has its own.
 *
 * These changes are advisory: a failure is logged, and the next outcome of the endpoint requests the change
 * again.
 */
export interface StateItem {
  projectId: ProjectId;
  /** Items of a kind with the same key request the same change. Absent: each counts. */
  key?: string;
}

export interface StateChange {
  /** Endpoints may become inactive. That is config, and has entries in the audit log. */
  isConfig: boolean;
  make(change: ConfigChange): Promise<readonly AuditNote[]>;
}

/** Null: the items ask for no change. */
type Look<Item> = (projectId: ProjectId, items: readonly Item[]) => Promise<StateChange | null>;

export interface StateKind<Item extends StateItem> {
  add(item: Item): void;
}

interface Kind {
  look(projectId: ProjectId, items: readonly StateItem[]): Promise<StateChange | null>;
  failed(projectId: ProjectId, error: unknown): void;
  /** The keys of its items that wait. */
  waiting: Set<string>;
}

interface Wanted {
  kind: Kind;
  change: StateChange;
}

export interface StateChangesDeps {
  commits: {
    changeState<T>(projectId: ProjectId, work: (change: ConfigChange) => Promise<T>): Promise<T>;
    changeAtOnce<T>(by: ChangeAuthor, work: (change: ConfigChange) => Promise<Changed<T>>): Promise<T>;
  };
  clock?: Clock;
  log: Logger;
}

const MAX_BATCH = 1_000;
/** The minimum time between two batches: at most four config versions a second for a project. */
const PACE_MS = 250;

export class StateChanges {
  readonly #deps: StateChangesDeps;
  readonly #batcher: Batcher<{ kind: Kind; item: StateItem }, void>;

  constructor(deps: StateChangesDeps) {
    this.#deps = deps;
    this.#batcher = new Batcher({
      run: async (entries) => {
        for (const [projectId, own] of Map.groupBy(entries, ({ item }) => item.projectId))
          await this.#settle(projectId, own);
        return [];
      },
      sharer: ({ item }) => item.projectId,
      maxWeight: MAX_BATCH,
      maxInFlight: 1,
      paceMs: PACE_MS,
      ...(deps.clock && { clock: deps.clock }),
    });
  }

  kind<Item extends StateItem>(look: Look<Item>): StateKind<Item> {
    const waiting = new Set<string>();
    const failed = (project: ProjectId, error: unknown) =>
      this.#deps.log.warn(
        { err: error, project },
        'failed to change the state of endpoints; the next outcome retries',
      );
    const kind: Kind = { look, failed, waiting };
    return {
      add: (item) => {
        const { key } = item;
        if (key !== undefined && waiting.has(key)) return;
        if (key !== undefined) waiting.add(key);
        // The batch settles each of its items, even if the change fails.
        void this.#batcher.add({ kind, item });
      },
    };
  }

  /** For a caller that waits for the commit, and handles its failure. */
  join(projectId: ProjectId, change: StateChange): Promise<void> {
    return new Promise((resolve, reject) => {
      const failed = (_: ProjectId, error: unknown) => reject(error);
      const kind: Kind = { look: async () => change, failed, waiting: new Set() };
      void this.#batcher.add({ kind, item: { projectId } }).then(resolve);
    });
  }

  /** Waits for all requested changes. */
  drain(): Promise<void> {
    return this.#batcher.drain();
  }

  async #settle(projectId: ProjectId, entries: readonly { kind: Kind; item: StateItem }[]): Promise<void> {
    const wanted: Wanted[] = [];
    for (const [kind, own] of Map.groupBy(entries, (entry) => entry.kind)) {
      // In the same step in which the look begins, so that a later item requests another look.
      for (const { item } of own) if (item.key !== undefined) kind.waiting.delete(item.key);
      try {
        const change = await kind.look(
          projectId,
          own.map(({ item }) => item),
        );
        if (change !== null) wanted.push({ kind, change });
      } catch (error) {
        if (!isProjectAway(error)) kind.failed(projectId, error);
      }
    }
    await this.#commit(projectId, wanted);
  }

  async #commit(projectId: ProjectId, wanted: readonly Wanted[]): Promise<void> {
    const [first, ...more] = wanted;
    if (first === undefined) return;
    try {
      await this.#make(
        projectId,
        wanted.map(({ change }) => change),
      );
    } catch (error) {
      // A deleted project has no state to change. That of one that moves changes after its next outcome.
      if (isProjectAway(error)) return;
      if (more.length === 0) first.kind.failed(projectId, error);
      else for (const one of wanted) await this.#commit(projectId, [one]);
    }
  }

  #make(projectId: ProjectId, changes: readonly StateChange[]): Promise<unknown> {
    const { commits } = this.#deps;
    const make = async (change: ConfigChange) => {
      const audit: AuditNote[] = [];
      for (const one of changes) audit.push(...(await one.make(change)));
      return { result: null, audit };
    };
    return changes.some(({ isConfig }) => isConfig)
      ? commits.changeAtOnce({ projectId, actor: INSTANCE }, make)
      : commits.changeState(projectId, make);
  }
}
