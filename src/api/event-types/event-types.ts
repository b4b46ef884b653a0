import type { FastifyInstance } from 'fastify';
import {
  createEventType,
  deprecateEventType,
  importEventTypes,
  updateEventType,
} from '../../control/event-type-changes.ts';
import { seesEventType } from '../../domain/endpoint-scope.ts';
import { found } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { checkUsableSchema } from '../../json-schema/check-usable-schema.ts';
import { nextTurn } from '../../platform/time/next-turn.ts';
import { Type } from '../../platform/type.ts';
import { listEventTypes } from '../../store/config/event-types.ts';
import { getConfigVersion } from '../../store/config/projects.ts';
import { bareQuery } from '../http/answer/envelope.ts';
import type { ApiContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { showRows } from '../http/show-rows.ts';
import { describedTypes } from './catalogue.ts';
import { asyncApiOf, openApiOf } from './catalogue-documents.ts';
import {
  CreateEventType,
  EventType,
  ImportEventTypes,
  toEventType,
  UpdateEventType,
} from './event-type-schema.ts';

const path = '/api/v1/projects/:projectID/event-types';
const onePath = `${path}/:eventTypeID` as const;
const route = operationsOf('Event types');

/** The validators of schemas are loaded by the first call that needs them. */
export function registerEventTypes(app: FastifyInstance, context: ApiContext): void {
  const { db } = context;
  const typesOf = async (projectId: ProjectId, ids: readonly string[]) =>
    (await listEventTypes(db, projectId)).filter(({ id }) => ids.includes(id)).map(toEventType);
  route.get(app, path, {
    id: 'listEventTypes',
    summary: 'List the event types of the project by name.',
    message: 'Event types fetched',
    data: Type.Array(EventType),
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, scope }) => {
      const types = await db.reading(project.id, (tx) => listEventTypes(tx, project.id));
      return showRows(
        types.filter(({ name }) => seesEventType(scope, name)),
        toEventType,
      );
    },
  });
  for (const [suffix, id, format, bareType] of [
    ['openapi', 'getEventTypesAsOpenApi', 'OpenAPI 3.1', 'application/vnd.oai.openapi+json'],
    ['asyncapi', 'getEventTypesAsAsyncApi', 'AsyncAPI 3', 'application/vnd.aai.asyncapi+json'],
  ] as const) {
    route.get(app, `${path}/${suffix}`, {
      id,
      summary: `Get the event types of the project as an ${format} document, with an example of each.`,
      query: Type.Object(bareQuery),
      bareType,
      message: 'Event types fetched',
      data: Type.Record(Type.String(), Type.Unknown()),
      portal: 'read',
      access: 'viewer',
      handle: async ({ project, scope }) => {
        const rows = await db.reading(project.id, (tx) => listEventTypes(tx, project.id));
        const seen = rows.filter(({ name }) => seesEventType(scope, name));
        const version = String((await getConfigVersion(db, project.id)) ?? 0);
        const catalogue = { title: project.name, version, types: describedTypes(seen, project.config) };
        return suffix === 'openapi' ? openApiOf(catalogue) : asyncApiOf(catalogue);
      },
    });
  }
  route.post(app, path, {
    id: 'createEventType',
    summary: 'Create an event type.',
    body: CreateEventType,
    status: 201,
    message: 'Event type created',
    data: EventType,
    dryRun: true,
    access: 'developer',
    handle: async ({ by, body, project }) => {
      const { describe, UNDESCRIBED } = await import('./describe-event-type.ts');
      const type = { name: body.name, ...describe(UNDESCRIBED, body) };
      checkUsableSchema(project.config, type.json_schema, 'json_schema');
      return toEventType(await createEventType(context.changes, by, type));
    },
    again: async ({ project }, { ids, id }) => found((await typesOf(project.id, ids))[0], 'event type', id),
  });
  route.put(app, onePath, {
    id: 'updateEventType',
    summary: 'Update the description of an event type. Fields that are not named keep their value.',
    body: UpdateEventType,
    status: 201,
    message: 'Event type updated',
    data: EventType,
    dryRun: true,
    access: 'developer',
    handle: async ({ by, params, body, project }) => {
      checkUsableSchema(project.config, body.json_schema, 'json_schema');
      const { describe } = await import('./describe-event-type.ts');
      const one = { ...by, id: params.eventTypeID };
      return toEventType(await updateEventType(context.changes, one, (known) => describe(known, body)));
    },
  });
  route.post(app, `${onePath}/deprecate`, {
    id: 'deprecateEventType',
    summary: 'Mark an event type as deprecated. It still works.',
    status: 201,
    message: 'Event type deprecated',
    data: EventType,
    access: 'developer',
    handle: async ({ by, params }) => {
      const one = { ...by, id: params.eventTypeID };
      return toEventType(await deprecateEventType(context.changes, one));
    },
  });
  route.post(app, `${path}/import`, {
    id: 'importEventTypes',
    summary: 'Create or update event types from the webhooks of an OpenAPI document.',
    body: ImportEventTypes,
    message: 'Event types imported',
    data: Type.Array(EventType),
    access: 'developer',
    handle: async ({ by, body, project }) => {
      const { readOpenApiApart } = await import('./read-openapi-apart.ts');
      const types = await readOpenApiApart(project.id, body.spec);
      for (const { name, json_schema } of types) {
        await nextTurn();
        checkUsableSchema(project.config, json_schema, `spec.${name}`);
      }
      const rows = await importEventTypes(context.changes, by, types);
      return rows.map(toEventType);
    },
    again: ({ project }, { ids }) => typesOf(project.id, ids),
  });
}
