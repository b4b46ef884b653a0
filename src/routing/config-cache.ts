import { setImmediate as nextTurn } from 'node:timers/promises';
import { AppError } from '../domain/errors.ts';
import type { ProjectId } from '../domain/ids.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import type { Logger } from '../platform/logger.ts';
import { Turns } from '../platform/turns.ts';
import { alertsChangedSince } from '../store/config/alerts.ts';
import type { EndpointStore } from '../store/config/endpoints.ts';
import { listSchemas } from '../store/config/event-types.ts';
import { type ProjectRow, type ProjectStore, projectMoving } from '../store/config/projects.ts';
import type { SourceRow, SourceStore } from '../store/config/sources.ts';
import { subscriptions as subscriptionTable } from '../store/config/subscriptions.ts';
import type { Database } from '../store/database/database.ts';
import { breakersChangedSince, toBreaker } from '../store/limits/breakers.ts';
import { EventSchemas } from './event-schemas.ts';
import { ProjectRouting, type RoutedEndpoint, routeEndpoint } from './project-routing.ts';
import { type RoutedSubscription, routeSubscription } from './routed-subscription.ts';

/**
 * The compiled config of the projects in use, in memory, bounded. A refresh reads only rows newer than those
 * in memory (deletions are tombstones). It may read rows of a newer version than the project row it started
 * from. The label stays the older one, so the next check refreshes again, never the other way round. A stale
 * cache cannot make accept wrong, because accept compares versions in its own statement. A poll each second
 * (see `ConfigWatch`) keeps the dispatcher's view fresh even if notifications are lost.
 */
const MAX_PROJECTS = 10_000;
/**
 * Reads at a time, of one project each. A read asks five tables at once, so more would only fill the pool. Reads that
 * notices, polls and gates ask for are fewer, so that a caller does not wait behind the changes of thousands of projects.
 */
const MAX_LOADS = 8;
const MAX_QUIET_LOADS = 4;
/** Less than a millisecond. */
const ROWS_PER_TURN = 250;

/** `changedIds`: the endpoints and subscriptions that changed since the previous version. */
type ConfigListener = (routing: ProjectRouting, changedIds: readonly string[]) => void;

export class ConfigCache {
  readonly #db: Database;
  readonly #projectStore: ProjectStore;
  readonly #endpoints: EndpointStore;
  readonly #sources: SourceStore;
  readonly #log: Logger;
  readonly #onChange: ConfigListener | undefined;
  readonly #projects = new BoundedMap<ProjectId, ProjectRouting>(MAX_PROJECTS);
  /** Projects found to be deleted. */
  readonly #gone = new BoundedMap<ProjectId, true>(MAX_PROJECTS);
  readonly #turns = new Turns(MAX_LOADS);
  readonly #quietTurns = new Turns(MAX_QUIET_LOADS);
  /** The database's time at which the newest look began whose changes are read. Null: none yet. */
  seenAtMs: number | null = null;
  /** Projects that wait to be brought up to date. */
  readonly #behind = new Map<ProjectId, Promise<boolean>>();
  readonly #loading = new Map<ProjectId, Promise<ProjectRouting>>();

  constructor(deps: {
    db: Database;
    projects: ProjectStore;
    endpoints: EndpointStore;
    sources: SourceStore;
    log: Logger;
    onChange?: ConfigListener;
  }) {
    this.#db = deps.db;
    this.#projectStore = deps.projects;
    this.#endpoints = deps.endpoints;
    this.#sources = deps.sources;
    this.#log = deps.log;
    this.#onChange = deps.onChange;
  }

  /** Undefined too for a project that has closed here, because it moves. `get` says why. */
  peek(projectId: ProjectId): ProjectRouting | undefined {
    const known = this.#projects.get(projectId);
    return known?.isClosed === true ? undefined : known;
  }

  isGone(projectId: ProjectId): boolean {
    return this.#gone.has(projectId);
  }

  async get(projectId: ProjectId): Promise<ProjectRouting> {
    return this.peek(projectId) ?? this.refresh(projectId);
  }

  /** Null: the project was deleted. For the engine: one that has closed here has a closed gate. */
  async getOrNull(projectId: ProjectId): Promise<ProjectRouting | null> {
    try {
      return this.#projects.get(projectId) ?? (await this.#refresh(projectId));
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  /** Reads changed rows. Concurrent callers share one read that began after their call. */
  async refresh(projectId: ProjectId): Promise<ProjectRouting> {
    const routing = await this.#refresh(projectId);
    if (routing.isClosed) throw projectMoving(projectId);
    return routing;
  }

  async #refresh(projectId: ProjectId): Promise<ProjectRouting> {
    const running = this.#loading.get(projectId);
    if (running !== undefined) await running.catch(() => undefined);
    const shared = this.#loading.get(projectId);
    if (shared !== undefined) return shared;
    const loading = this.#turns
      .run(projectId, () => this.#load(projectId))
      .finally(() => this.#loading.delete(projectId));
    this.#loading.set(projectId, loading);
    return loading;
  }

  /** The version of each project in memory. Of one that was not found it is -1. */
  versions(): ReadonlyMap<ProjectId, number> {
    const gone = [...this.#gone].map(([id]) => [id, -1] as const);
    return new Map([...gone, ...[...this.#projects].map(([id, { version }]) => [id, version] as const)]);
  }

  /** Projects that are in memory or being read, and were not in these versions. */
  newSince(versions: ReadonlyMap<ProjectId, number>): ProjectId[] {
    const now = new Set([...this.#projects].map(([id]) => id));
    for (const id of this.#loading.keys()) now.add(id);
    return [...now].filter((id) => !versions.has(id));
  }

  /** For notifications about projects in use. False: it failed. */
  async refreshQuietly(projectId: ProjectId): Promise<boolean> {
    // One that was not here may have moved here. One that is being read may be read in its old state.
    const isUsed = this.#projects.has(projectId) || this.#gone.has(projectId) || this.#loading.has(projectId);
    return isUsed ? this.load(projectId) : true;
  }

  /** Refreshes a project. A failure is logged and left to the next poll. Then it is false. */
  load(projectId: ProjectId): Promise<boolean> {
    const known = this.#behind.get(projectId);
    if (known !== undefined) return known;
    // The turn may come at once, and takes the entry out again: it comes after the entry is there.
    const loading = Promise.resolve().then(() =>
      this.#quietTurns.run(projectId, () => this.#loadQuietly(projectId)),
    );
    this.#behind.set(projectId, loading);
    return loading;
  }

  async #loadQuietly(projectId: ProjectId): Promise<boolean> {
    // A notice from now on asks for another read.
    this.#behind.delete(projectId);
    try {
      await this.#refresh(projectId);
      return true;
    } catch (error) {
      if (isNotFound(error)) return true;
      this.#log.warn({ project: projectId, err: error }, 'config refresh failed; retrying within 1 s');
      return false;
    }
  }

  async #load(projectId: ProjectId): Promise<ProjectRouting> {
    const project = await this.#projectStore.find(this.#db, projectId);
    if (project === undefined) {
      this.#projects.delete(projectId);
      this.#gone.set(projectId, true);
      throw new AppError('project_not_found', { id: projectId });
    }
    this.#gone.delete(projectId);
    const known = this.#projects.get(projectId);
    if (known?.version === project.version) return known;
    const { routing, changedIds } = await this.#build(project, known);
    this.#projects.set(projectId, routing);
    this.#onChange?.(routing, changedIds);
    return routing;
  }

  async #build(project: ProjectRow, known: ProjectRouting | undefined) {
    // A changed project config changes how every endpoint and subscription compiles, so everything is
    // rebuilt.
    // One that comes back to this cell brings rows of versions from elsewhere, and no tombstones of those it had here.
    const isUsable = known !== undefined && !known.isClosed && isSameConfig(known.project, project);
    const base = isUsable ? known : undefined;
    const since = base?.version ?? 0;
    const [endpointRows, subscriptionRows, sourceRows, breakerRows, alertRows] = await Promise.all([
      this.#endpoints.changedSince(this.#db, project.id, since),
      subscriptionTable.changedSince(this.#db, project.id, since),
      this.#sources.changedSince(this.#db, project.id, since),
      breakersChangedSince(this.#db, project.id, since),
      alertsChangedSince(this.#db, project.id, since),
    ]);
    // Unchanged parts are shared with the previous version, not copied: a project may have 100,000
    // subscriptions.
    const endpoints = grown<RoutedEndpoint>(base?.endpoints, endpointRows);
    await inTurns(endpointRows, (row) => {
      if (row.deleted_at === null) endpoints.set(row.id, routeEndpoint(row, project.config, project.keys));
      else endpoints.delete(row.id);
    });
    const subscriptions = grown<RoutedSubscription>(base?.subscriptions, subscriptionRows);
    await inTurns(subscriptionRows, (row) => {
      if (row.deleted_at === null) subscriptions.set(row.id, routeSubscription(row, project.config));
      else subscriptions.delete(row.id);
    });
    const sources = new Map<string, SourceRow>(base?.sources);
    for (const row of sourceRows) {
      if (row.deleted_at === null) sources.set(row.id, row);
      else sources.delete(row.id);
    }
    const breakers = new Map(base?.breakers);
    for (const row of breakerRows) breakers.set(row.endpoint_id, toBreaker(row));
    const alerts = new Map(base?.alerts);
    for (const row of alertRows) alerts.set(row.subject_id, { kind: row.kind, isRaised: row.is_raised });
    const schemas = await this.#schemas(project, known);
    const compiled = { endpoints, subscriptions, sources, breakers, alerts, schemas };
    const changed = [...endpointRows, ...subscriptionRows].map(({ id }) => id);
    // The end of a move opens every gate.
    const isReopened = known !== undefined && known.isMoving && project.cell_state === null;
    const opened = isReopened ? [...endpoints.keys(), ...subscriptions.keys()] : [];
    const changedIds = [...changed, ...breakerRows.map(({ endpoint_id }) => endpoint_id), ...opened];
    return { routing: new ProjectRouting(project, compiled, base), changedIds };
  }

  /** All of them are read with each change, and those that changed compiled again. */
  async #schemas(project: ProjectRow, known: ProjectRouting | undefined): Promise<EventSchemas | undefined> {
    const mode = project.config.schema_check;
    if (mode === 'off') return undefined;
    return new EventSchemas(mode, await listSchemas(this.#db, project.id), known?.schemas);
  }
}

const isNotFound = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'project_not_found';

/** Leaves turns of the event loop to others. With 10,000 changed endpoints the longest turn took 13 ms, now 4 ms. */
async function inTurns<Row>(rows: readonly Row[], take: (row: Row) => void): Promise<void> {
  for (const [n, row] of rows.entries()) {
    if (n % ROWS_PER_TURN === ROWS_PER_TURN - 1) await nextTurn();
    take(row);
  }
}

/** Returns the map itself if nothing changes. */
function grown<Value>(
  known: ReadonlyMap<string, Value> | undefined,
  changes: readonly unknown[],
): Map<string, Value> {
  return known !== undefined && changes.length === 0 ? (known as Map<string, Value>) : new Map(known);
}

function isSameConfig(a: ProjectRow, b: ProjectRow): boolean {
  return a.keysMark === b.keysMark && JSON.stringify(a.config) === JSON.stringify(b.config);
}
