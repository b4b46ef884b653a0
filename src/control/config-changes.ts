import type { Alert } from '../domain/alert.ts';
import type { DefaultsKind } from '../domain/config/project-config.ts';
import type { IdFactory, ProjectId } from '../domain/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sealer } from '../platform/sealer.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { Changed } from '../store/audit/audit-entries.ts';
import {
  type ChangeAuthor,
  type Committable,
  type ConfigChange,
  changeConfig,
  changeState,
} from '../store/changes/config-change.ts';
import type { EndpointStore } from '../store/config/endpoints.ts';
import type { ProjectStore } from '../store/config/projects.ts';
import type { SourceStore } from '../store/config/sources.ts';
import type { Database, Queryable } from '../store/database/database.ts';
import { dryRun } from '../store/database/dry-run.ts';
import type { MetaEventRecorder } from '../store/queue/meta-event-recorder.ts';
import type { AlertRecorder } from './alert-recorder.ts';
import { StateChanges } from './state-changes.ts';

export type { ConfigChange };

export interface ConfigChangesDeps {
  db: Database;
  ids: IdFactory;
  /** The database's time in milliseconds. */
  now(): number;
  sealer: Sealer;
  cache: ConfigCache;
  endpoints: EndpointStore;
  sources: SourceStore;
  projects: ProjectStore;
  metaEvents: MetaEventRecorder;
  alerts: AlertRecorder;
  /** Whose defaults new projects have. */
  defaults: DefaultsKind;
  /** That of the instance. */
  retentionMs: number;
  log: Logger;
  /** Access to a project ended or narrowed: clears this node's cached callers. */
  forgetCallers(projectId: ProjectId): void;
}

/** The actor of a change, and the project. */
export type Author = ChangeAuthor;
type Turn = Omit<Author, 'actor'>;

/**
 * The steps of every change of config. The functions of this folder change one kind of resource each, and all of them
 * go through here:
 *
 * turn    -> changes that callers ask for wait in line, one line per project. Changes of the engine do not: a caller that
 *            fills the line cannot hold up circuit breakers and alerts
 * begin   -> a transaction; the versions of the project go up, which locks its row: changes of a project take turns.
 *            A caller that wants another version of the config is refused
 * work    -> checks and statements; each records its meta events and gives back its entries for the audit log
 * end     -> audit entries, meta events and the notice to other nodes are stored in the same transaction
 * commit  -> then people get the alerts that moved, and this node reads the new config, once
 *
 * A dry run ends before the commit: it is rolled back, and no step after it happens.
 *
 * A change that was committed does not fail. Should this node fail to read the new config, it logs that and reads it
 * again within a second. Accept compares versions in its own statement, so no event is matched against old config.
 */
export class ConfigChanges {
  readonly deps: ConfigChangesDeps;
  /** Changes of state by the engine and by sources. */
  readonly states: StateChanges;

  constructor(deps: ConfigChangesDeps) {
    this.deps = deps;
    this.states = new StateChanges({ commits: this, log: deps.log });
  }

  change<T>(by: Author, work: (change: ConfigChange) => Promise<Changed<T>>): Promise<T> {
    return this.#commitInTurn(by, (tx) => changeConfig({ ...this.deps, tx }, by, work));
  }

  /** As `change`, ahead of those that wait for their turn. */
  changeAtOnce<T>(by: Author, work: (change: ConfigChange) => Promise<Changed<T>>): Promise<T> {
    return this.#commit(by.projectId, (tx) => changeConfig({ ...this.deps, tx }, by, work));
  }

  /** In a transaction that does more. The result is to be called after its commit. */
  async changeIn(
    tx: Queryable,
    by: Author,
    work: (change: ConfigChange) => Promise<Changed<unknown>>,
  ): Promise<() => Promise<void>> {
    const { committed } = await changeConfig({ ...this.deps, tx }, by, work);
    return () => this.#committed(by.projectId, committed);
  }

  /** State that is not configured: circuit breakers, alerts, answered challenges. No entry in the audit log. */
  changeState<T>(projectId: ProjectId, work: (change: ConfigChange) => Promise<T>): Promise<T> {
    return this.#commit(projectId, (tx) => changeState({ ...this.deps, tx }, projectId, work));
  }

  /** As `changeState`, in a transaction that does more. The result is to be called after its commit. */
  async changeStateIn(
    tx: Queryable,
    projectId: ProjectId,
    work: (change: ConfigChange) => Promise<unknown>,
  ): Promise<() => Promise<void>> {
    const { committed } = await changeState({ ...this.deps, tx }, projectId, work);
    return () => this.#committed(projectId, committed);
  }

  /** As `changeState`, for a caller: in its turn. */
  changeStateInTurn<T>(projectId: ProjectId, work: (change: ConfigChange) => Promise<T>): Promise<T> {
    return this.#commitInTurn({ projectId }, (tx) => changeState({ ...this.deps, tx }, projectId, work));
  }

  /** Moves alerts as part of a change, and tells people after its commit. Returns those that moved. */
  async moveAlerts(change: ConfigChange, wanted: readonly Alert[]): Promise<Alert[]> {
    const { alerts } = this.deps;
    const moved = await alerts.record(change, wanted);
    change.onCommit(() => alerts.notify(moved));
    return moved;
  }

  /**
   * Runs a change that ends or narrows access. The callers that this node remembers are forgotten before it returns,
   * also where the change failed: its commit may have gone through all the same.
   */
  async endingAccess<T>(projectId: ProjectId, change: () => Promise<T>): Promise<T> {
    try {
      return await change();
    } finally {
      this.deps.forgetCallers(projectId);
    }
  }

  async #commit<T>(projectId: ProjectId, run: (tx: Queryable) => Promise<Committable<T>>): Promise<T> {
    const { result, committed } = await this.deps.db.transaction(run);
    await this.#committed(projectId, committed);
    return result;
  }

  /** The turn ends with the commit. Changes that wait to read the new config share one read. */
  async #commitInTurn<T>(by: Turn, run: (tx: Queryable) => Promise<Committable<T>>): Promise<T> {
    const { result, committed } = await this.inTurn(by, run);
    if (!by.isDryRun) await this.#committed(by.projectId, committed);
    return result;
  }

  /** Runs a transaction of a caller in its turn. That of a dry run is rolled back, and makes no version. */
  inTurn<T>(by: Turn, run: (tx: Queryable) => Promise<T>): Promise<T> {
    const { db } = this.deps;
    return db.inTurn(by.projectId, async () => {
      if (!by.isDryRun) return db.transaction(run);
      const result = await dryRun(db, run);
      if (by.config !== undefined) by.config.made = null;
      return result;
    });
  }

  async #committed(projectId: ProjectId, committed: () => void): Promise<void> {
    committed();
    await this.deps.cache.load(projectId);
  }
}
