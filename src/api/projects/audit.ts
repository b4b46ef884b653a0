import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { type AuditAction, actorTypes, auditActions } from '../../domain/audit.ts';
import { badQuery } from '../../domain/errors.ts';
import { idTime } from '../../domain/ids.ts';
import { parsePageRequest, queryValue } from '../../domain/pagination.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { type AuditFilter, type AuditRow, listAudit } from '../../store/audit/audit-entries.ts';
import type { Call } from '../http/call.ts';
import type { ReadContext } from '../http/context.ts';
import { dateQuery, dateRange, iso, mapPage, PageOf, pageQuery, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

const actions = Object.keys(auditActions) as AuditAction[];

const Snapshot = nullable(Type.Record(Type.String(), Type.Unknown()));

export const AuditEntry = Type.Object({
  uid: Type.String(),
  project_id: nullable(Type.String(), 'Null: a change of the instance itself.'),
  actor: Type.Object({
    type: oneOf(actorTypes),
    uid: nullable(Type.String()),
    credential: nullable(Type.String(), 'The session of a person, or the key of a command.'),
    address: nullable(Type.String(), 'Where the call came from.'),
    via: nullable(Type.String(), 'The tool of an assistant that made the call, such as `mcp/retry_write`.'),
  }),
  action: oneOf(actions),
  resource: Type.Object({ type: Type.String(), uid: nullable(Type.String()) }),
  before: Snapshot,
  after: Snapshot,
  created_at: Time,
});

const filterQuery = {
  ...pageQuery,
  ...dateQuery,
  actorType: Type.Optional(Type.String({ description: `One of ${actorTypes.join(', ')}.` })),
  actorId: Type.Optional(Type.String({ description: 'The person, key or portal link.' })),
  action: Type.Optional(Type.String({ description: 'Such as `endpoint.updated`.' })),
  resourceId: Type.Optional(Type.String()),
};

/** The audit log. Entries are written with each change, never here. */
export function registerAudit(app: FastifyInstance, context: ReadContext): void {
  const route = operationsOf('Audit');
  const list = async (projectId: string | undefined, query: Call<unknown>['query']) => {
    const filter = { page: parsePageRequest(query), ...auditFilter(query) };
    return mapPage(
      await context.db.reading(projectId ?? '', (tx) => listAudit(tx, projectId, filter)),
      toAuditEntry,
    );
  };
  route.get(app, '/api/v1/projects/:projectID/audit', {
    id: 'listAudit',
    summary: 'List the audit log of a project, newest entry first.',
    query: Type.Object(filterQuery),
    message: 'Audit entries fetched',
    data: PageOf(AuditEntry),
    access: 'admin',
    handle: ({ project, query }) => list(project.id, query),
  });
  route.get(app, '/api/v1/audit', {
    id: 'listInstanceAudit',
    summary: 'List the audit log of the instance and of every project, deleted projects included.',
    query: Type.Object({ ...filterQuery, projectId: Type.Optional(Type.String()) }),
    message: 'Audit entries fetched',
    data: PageOf(AuditEntry),
    access: 'instance',
    handle: ({ query }) => list(queryValue(query, 'projectId'), query),
  });
}

function auditFilter(query: Call<unknown>['query']): AuditFilter {
  return {
    ...dateRange(query),
    actorType: known(query, 'actorType', actorTypes),
    actorId: queryValue(query, 'actorId'),
    action: known(query, 'action', actions),
    resourceId: queryValue(query, 'resourceId'),
  };
}

/** Unknown filter values are refused. Otherwise a typo would return an empty list. */
function known(query: Call<unknown>['query'], name: string, values: readonly string[]): string | undefined {
  const value = queryValue(query, name);
  if (value === undefined || values.includes(value)) return value;
  throw badQuery(name, `"${value}" is not one of ${values.join(', ')}`);
}

function toAuditEntry(row: AuditRow): Static<typeof AuditEntry> {
  return {
    uid: row.id,
    project_id: row.project_id,
    actor: {
      type: row.actor_type,
      uid: row.actor_id,
      credential: row.credential_id,
      address: row.address,
      via: row.via,
    },
    action: row.action,
    resource: { type: row.resource_type, uid: row.resource_id },
    before: row.before as Static<typeof Snapshot>,
    after: row.after as Static<typeof Snapshot>,
    created_at: iso(idTime(row.id)),
  };
}
