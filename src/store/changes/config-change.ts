import type { Actor, ConfigVersion } from '../../domain/audit.ts';
import type { ShownState } from '../../domain/config/endpoint-state.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import { AppError } from '../../domain/errors.ts';
import type { IdFactory, ProjectId } from '../../domain/ids.ts';
import { type MetaEventType, type NewMetaEvent, wantsMetaEvent } from '../../domain/meta-event.ts';
import { auditedIn, type Changed } from '../audit/audit-entries.ts';
import { refuseMoving } from '../config/projects.ts';
import type { Queryable } from '../database/database.ts';
import { notifyNodes } from '../database/notify-nodes.ts';
import { insertMetaEvents } from '../queue/insert-meta-events.ts';
import type { MetaEventRecorder } from '../queue/meta-event-recorder.ts';
import { statesOfEndpoints } from './states-of-endpoints.ts';

/**
 * A change of a project's config under way: its transaction, and the version that the changed rows carry. The statements
 * that change config take one, and record their meta events in it. Only the functions below can make one.
 */
class ConfigChange implements Queryable {
  readonly projectId: ProjectId;
  readonly version: number;
  /** As it was before the change. */
  readonly config: ProjectConfig;
  readonly #tx: Queryable;
  readonly #metaEvents: MetaEventRecorder;
  readonly #newMetaEvents: NamedEvent[] = [];
  readonly #afterCommit: (() => void)[] = [];

  constructor(
    { tx, metaEvents }: { tx: Queryable; metaEvents: MetaEventRecorder },
    project: { id: ProjectId; version: number; config: ProjectConfig },
  ) {
    this.#tx = tx;
    this.#metaEvents = metaEvents;
    this.projectId = project.id;
    this.version = project.version;
    this.config = project.config;
  }

  query<R extends object>(text: string, values?: unknown[]): Promise<R[]> {
    return this.#tx.query<R>(text, values);
  }

  /**
   * Makes a meta event if the project wants one. It is stored at the end of the transaction. `config`: the one to ask,
   * where the project's own config changes.
   */
  metaEvent(type: MetaEventType, data: () => object, config = this.config): void {
    if (wantsMetaEvent(config.meta_event, type))
      this.#newMetaEvents.push({ type, config, endpointId: null, data });
  }

  /** As `metaEvent`, about an endpoint. Its data gets the state that the endpoint has after the change. */
  endpointEvent(
    endpointId: string,
    type: MetaEventType,
    data: (state: ShownState | undefined) => object,
  ): void {
    const { config } = this;
    if (wantsMetaEvent(config.meta_event, type)) this.#newMetaEvents.push({ type, config, endpointId, data });
  }

  /** Runs after the commit, before this node reads the new config. It must not fail. */
  onCommit(run: () => void): void {
    this.#afterCommit.push(run);
  }

  /** The last statements of the change. Returns what is to run after the commit. */
  async end(): Promise<() => void> {
    await insertMetaEvents(this.#tx, await this.#preparedEvents());
    await notifyNodes(this.#tx, this.projectId);
    return () => {
      for (const run of this.#afterCommit) run();
    };
  }

  async #preparedEvents(): Promise<NewMetaEvent[]> {
    const ids = new Set(this.#newMetaEvents.flatMap(({ endpointId }) => endpointId ?? []));
    const states = await statesOfEndpoints(this, [...ids]);
    return this.#newMetaEvents.flatMap(({ type, config, endpointId, data }) => {
      const state = endpointId === null ? undefined : states.get(endpointId);
      return this.#metaEvents.prepare({ id: this.projectId, config }, type, () => data(state)) ?? [];
    });
  }
}

interface NamedEvent {
  type: MetaEventType;
  config: ProjectConfig;
  /** Null: it is about something else. */
  endpointId: string | null;
  data(state: ShownState | undefined): object;
}

/** The type alone: other files can take a change and cannot make one. */
export type { ConfigChange };

/** `committed` is to be called after the commit. */
export interface Committable<T> {
  result: T;
  committed(): void;
}

/** The actor of a change, the project, and the version of its config. */
export interface ChangeAuthor {
  projectId: ProjectId;
  actor: Actor;
  /** Absent: any version. */
  config?: ConfigVersion | undefined;
  /** The change is checked as a whole, and rolled back. */
  isDryRun?: boolean;
}

interface ChangeDeps {
  tx: Queryable;
  metaEvents: MetaEventRecorder;
}

/**
 * Changes a project's config in a transaction: its version goes up, the changed rows carry the new version, the meta
 * events of the changes are stored, the audit log says who changed what, and other nodes get a notice at commit. (They
 * also look each second; the notice only makes it early.)
 */
export async function changeConfig<T>(
  { ids, ...deps }: ChangeDeps & { ids: IdFactory },
  by: ChangeAuthor,
  work: (change: ConfigChange) => Promise<Changed<T>>,
): Promise<Committable<T>> {
  const project = await raise(
    deps.tx,
    by.projectId,
    'version = version + 1, config_version = config_version + 1',
  );
  return changeRaised(deps, project, (change) =>
    auditedIn(change, { ids, ...by }, () => {
      // Not of a repeated call: the first one was made on that version.
      checkVersion(by, project);
      return work(change);
    }),
  );
}

/**
 * Changes state that nodes learn with the project's version and that is not configured: circuit breakers, alerts,
 * answered challenges. No entry in the audit log.
 */
export async function changeState<T>(
  deps: ChangeDeps,
  projectId: ProjectId,
  work: (change: ConfigChange) => Promise<T>,
): Promise<Committable<T>> {
  return changeRaised(deps, await raise(deps.tx, projectId, 'version = version + 1'), work);
}

async function changeRaised<T>(
  deps: ChangeDeps,
  project: RaisedProject,
  work: (change: ConfigChange) => Promise<T>,
): Promise<Committable<T>> {
  const change = new ConfigChange(deps, project);
  const result = await work(change);
  return { result, committed: await change.end() };
}

interface RaisedProject {
  id: ProjectId;
  version: number;
  config_version: number;
  config: ProjectConfig;
}

/** Locks the project until the end of the transaction. */
async function raise(tx: Queryable, projectId: ProjectId, versions: string): Promise<RaisedProject> {
  const [project] = await tx.query<RaisedProject>(
    `update projects set ${versions}
     where id = $1 and deleted_at is null and cell_state is distinct from 'closed'
     returning id, version, config_version, config`,
    [projectId],
  );
  if (project === undefined) await refuseMoving(tx, projectId);
  if (project === undefined) throw new AppError('project_not_found', { id: projectId });
  return project;
}

/** The project is locked, so no other change comes between this check and the commit. */
function checkVersion(
  { config }: Pick<ChangeAuthor, 'config'>,
  { config_version: made }: RaisedProject,
): void {
  if (config === undefined) return;
  // A call may make several changes: the next one is on the version of its own last one.
  const wanted = config.made ?? config.wanted;
  const version = made - 1;
  if (config.wanted !== null && wanted !== version)
    throw new AppError('config_changed', { version, wanted: config.wanted });
  config.made = made;
}
