import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { type Actor, type AuditNote, changeOf } from '../../domain/audit.ts';
import { seesEventType } from '../../domain/endpoint-scope.ts';
import { audited } from '../../store/config/audit-entries.ts';
import {
  deprecateEventType,
  type EventTypeRow,
  eventTypesForUpdate,
  importEventTypes,
  insertEventType,
  listEventTypes,
  updateEventType,
} from '../../store/config/event-types.ts';
import { isUniqueViolation } from '../../store/database/pg-errors.ts';
import type { ApiContext } from '../http/context.ts';
import { found, invalid } from '../http/fields.ts';
import { registerOperation } from '../http/operation.ts';
import { showRows } from '../http/show-rows.ts';
import { updated } from '../http/updated.ts';
import {
  CreateEventType,
  checkJsonSchema,
  EventType,
  ImportEventTypes,
  toEventType,
  UpdateEventType,
} from './event-type-schema.ts';
import { readOpenApi } from './read-openapi.ts';

const path = '/api/v1/projects/:projectID/event-types';
const onePath = `${path}/:eventTypeID` as const;
const tag = 'Event types';

export function registerEventTypes(app: FastifyInstance, context: ApiContext): void {
  const { db } = context;
  registerOperation(app, {
    method: 'GET',
    path,
    id: 'listEventTypes',
    tag,
    summary: 'List the event types of the project by name.',
    status: 200,
    message: 'Event types fetched',
    data: Type.Array(EventType),
    portal: 'read',
    handle: async ({ project, scope }) => {
      const types = await listEventTypes(db, project.id);
      return showRows(
        types.filter(({ name }) => seesEventType(scope, name)),
        toEventType,
      );
    },
  });
  registerOperation(app, {
    method: 'POST',
    path,
    id: 'createEventType',
    tag,
    summary: 'Create an event type.',
    body: CreateEventType,
    status: 201,
    message: 'Event type created',
    data: EventType,
    handle: async ({ project, body, actor }) =>
      toEventType(await create(context, { projectId: project.id, actor }, body)),
  });
  registerOperation(app, {
    method: 'PUT',
    path: onePath,
    id: 'updateEventType',
    tag,
    summary: 'Update the description of an event type. Fields that are not named keep their value.',
    body: UpdateEventType,
    status: 201,
    message: 'Event type updated',
    data: EventType,
    handle: async ({ project, params, body, actor }) => {
      const id = params.eventTypeID;
      const row = await audited(context, { projectId: project.id, actor }, async (tx) => {
        const [row] = await eventTypesForUpdate(tx, project.id, { ids: [id] });
        const known = found(row, 'event type', id);
        const saved = await updateEventType(tx, described(known, body));
        return changed('event_type.updated', known, found(saved, 'event type', id));
      });
      return toEventType(row);
    },
  });
  registerOperation(app, {
    method: 'POST',
    path: `${onePath}/deprecate`,
    id: 'deprecateEventType',
    tag,
    summary: 'Mark an event type as deprecated. It still works.',
    status: 201,
    message: 'Event type deprecated',
    data: EventType,
    handle: async ({ project, params, actor }) => {
      const id = params.eventTypeID;
      const row = await audited(context, { projectId: project.id, actor }, async (tx) => {
        const [known] = await eventTypesForUpdate(tx, project.id, { ids: [id] });
        const saved = await deprecateEventType(tx, project.id, id);
        return changed('event_type.deprecated', known, found(saved, 'event type', id));
      });
      return toEventType(row);
    },
  });
  registerOperation(app, {
    method: 'POST',
    path: `${path}/import`,
    id: 'importEventTypes',
    tag,
    summary: 'Create or update event types from the webhooks of an OpenAPI document.',
    body: ImportEventTypes,
    status: 200,
    message: 'Event types imported',
    data: Type.Array(EventType),
    handle: async ({ project, body, actor }) => {
      const types = readOpenApi(body.spec).map((type) => ({ id: context.ids.next(), ...type }));
      for (const { name, json_schema } of types)
        if (json_schema !== null) checkJsonSchema(json_schema, `spec.${name}`);
      const rows = await audited(context, { projectId: project.id, actor }, async (tx) => {
        const names = types.map(({ name }) => name);
        const known = await eventTypesForUpdate(tx, project.id, { names });
        const result = await importEventTypes(tx, project.id, types);
        return { result, audit: result.map((row) => importNote(known, row)) };
      });
      return rows.map(toEventType);
    },
  });
}

/** The type as the body describes it. An empty schema says nothing, so none is stored. */
function described<Known extends Pick<EventTypeRow, 'category' | 'description' | 'json_schema'>>(
  known: Known,
  body: Static<typeof UpdateEventType>,
): Known {
  const { json_schema: schema } = body;
  if (schema !== undefined) checkJsonSchema(schema, 'json_schema');
  const isEmpty = schema !== undefined && Object.keys(schema).length === 0;
  return updated<Pick<EventTypeRow, 'category' | 'description' | 'json_schema'>>(known, UpdateEventType, {
    ...body,
    json_schema: isEmpty ? null : schema,
  }) as Known;
}

const changed = (action: AuditNote['action'], known: EventTypeRow | undefined, result: EventTypeRow) => ({
  result,
  audit: [changeOf(action, known, result)],
});

function importNote(known: readonly EventTypeRow[], row: EventTypeRow): AuditNote {
  const before = known.find(({ id }) => id === row.id);
  return changeOf(before === undefined ? 'event_type.created' : 'event_type.updated', before, row);
}

async function create(
  context: ApiContext,
  by: { projectId: string; actor: Actor },
  body: Static<typeof CreateEventType>,
): Promise<EventTypeRow> {
  const plain = { category: '', description: '', json_schema: null };
  const type = { id: context.ids.next(), name: body.name, ...described(plain, body) };
  try {
    return await audited(context, by, async (tx) =>
      changed('event_type.created', undefined, await insertEventType(tx, by.projectId, type)),
    );
  } catch (error) {
    if (isUniqueViolation(error)) throw invalid('name', 'there is an event type of this name');
    throw error;
  }
}
