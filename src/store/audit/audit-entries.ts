import type { Actor, AuditAction, AuditNote } from '../../domain/audit.ts';
import { auditView } from '../../domain/audit-view.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { refuseMoving } from '../config/projects.ts';
import type { Database, Queryable } from '../database/database.ts';
import { addIdRange, listPage, Where } from '../database/list-page.ts';
import { onceIn } from './once.ts';

export interface AuditRow {
  id: string;
  /** Null: a change of the instance itself. */
  project_id: string | null;
  actor_type: Actor['type'];
  actor_id: string | null;
  credential_id: string | null;
  address: string | null;
  via: string | null;
  action: AuditAction;
  resource_type: string;
  resource_id: string | null;
  before: object | null;
  after: object | null;
}

const COLUMNS =
  'id, project_id, actor_type, actor_id, credential_id, address, via, action, resource_type, resource_id, before, after';

/** The actor of a change and its project. */
export interface AuditPlace {
  ids: IdFactory;
  actor: Actor;
  /** Null: the instance itself. */
  projectId: string | null;
}

/** The result of a change and its audit entries. No entries if nothing changed. */
export interface Changed<T> {
  result: T;
  audit: readonly AuditNote[];
  /** The ids of what was created, if they are not those of the audit entries. */
  ids?: readonly string[];
  /** A secret that the response shows only once. */
  secret?: string | null | undefined;
}

/** A change outside the config, and its entries, in one transaction. Config changes through `ConfigChanges`. */
export function audited<T>(
  deps: { db: Database; ids: IdFactory },
  by: { projectId: string | null; actor: Actor; isOfPeople?: boolean },
  change: (tx: Queryable) => Promise<Changed<T>>,
): Promise<T> {
  return deps.db.transaction(async (tx) => {
    // People are at home, wherever the project is.
    if (by.projectId !== null && by.isOfPeople !== true) await refuseMoving(tx, by.projectId);
    return auditedIn(tx, { ids: deps.ids, ...by }, () => change(tx));
  });
}

/** Records entries in a transaction that does more. A call that may be repeated makes its change once. */
export async function auditedIn<T>(
  tx: Queryable,
  place: AuditPlace,
  change: () => Promise<Changed<T>>,
): Promise<T> {
  return onceIn(tx, place.actor, async () => {
    const { result, audit, ids = audit.map(({ resourceId }) => resourceId ?? ''), secret } = await change();
    await insertAudit(tx, place, audit);
    return { result, ids, secret };
  });
}

/** Stores the change in its own transaction. Secrets are removed here, for every caller. */
export async function insertAudit(
  tx: Queryable,
  { ids, actor, projectId }: AuditPlace,
  notes: readonly AuditNote[],
): Promise<void> {
  if (notes.length === 0) return;
  const views = notes.map(auditView);
  const { credentialId = null, address = null, via = null } = actor.type === 'instance' ? {} : actor;
  await tx.query(
    `insert into audit_entries (id, project_id, actor_type, actor_id, credential_id, address, via, action, resource_type, resource_id, before, after)
     select id, $1, $2, $3, $4, $5, $11, action, split_part(action, '.', 1), resource_id, before, after
     from unnest($6::text[], $7::text[], $8::text[], $9::json[], $10::json[]) as e(id, action, resource_id, before, after)`,
    [
      projectId,
      actor.type,
      actor.id,
      credentialId,
      address,
      notes.map(() => ids.next()),
      notes.map(({ action }) => action),
      notes.map(({ resourceId }) => resourceId),
      views.map(({ before }) => toJson(before)),
      views.map(({ after }) => toJson(after)),
      via,
    ],
  );
}

const toJson = (value: object | null) => (value === null ? null : JSON.stringify(value));

export interface AuditFilter {
  fromMs?: number | undefined;
  toMs?: number | undefined;
  actorType?: string | undefined;
  actorId?: string | undefined;
  action?: string | undefined;
  resourceId?: string | undefined;
}

/** The entries of a project, or of all projects and the instance itself. */
export function listAudit(
  db: Queryable,
  projectId: string | undefined,
  filter: AuditFilter & { page: PageRequest },
): Promise<Page<AuditRow>> {
  const where = new Where()
    .addIf('project_id = ?', projectId)
    .addIf('actor_type = ?', filter.actorType)
    .addIf('actor_id = ?', filter.actorId)
    .addIf('action = ?', filter.action)
    .addIf('resource_id = ?', filter.resourceId);
  addIdRange(where, 'id', filter);
  return listPage(db, { select: COLUMNS, from: 'audit_entries', where, page: filter.page, id: 'id' });
}
