import type { FastifyInstance } from 'fastify';
import {
  createEventType,
  deprecateEventType,
  importEventTypes,
  updateEventType,
} from '../../control/event-type-changes.ts';
import { seesEventType } from '../../domain/endpoint-scope.ts';
import { checkUsableSchema } from '../../json-schema/check-usable-schema.ts';
import { nextTurn } from '../../platform/time/next-turn.ts';
import { Type } from '../../platform/type.ts';
import { listEventTypes } from '../../store/config/event-types.ts';
import { getConfigVersion } from '../../store/config/projects.ts';
import { bareQuery } from '../http/answer/envelope.ts';
import type { Call } from '../http/call.ts';
import type { ChangeContext } from '../http/context.ts';
import { crud } from '../http/crud.ts';
import { operationsOf } from '../http/operation.ts';
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
const route = operationsOf('Event types');

/** The validators of schemas are loaded by the first call that needs them. */
export function registerEventTypes(app: FastifyInstance, context: ChangeContext): void {
  const { db, changes } = context;
  const seenTypes = async ({ project, scope }: Pick<Call<unknown>, 'project' | 'scope'>) => {
    const types = await db.reading(project.id, (tx) => listEventTypes(tx, project.id));
    return types.filter(({ name }) => seesEventType(scope, name));
  };
  const type = crud(app, db, {
    tag: 'Event types',
    noun: 'event type',
    path,
    param: 'eventTypeID',
    data: EventType,
    access: { read: 'viewer', change: 'developer' },
    dryRun: true,
    get: async ({ project }, id) => (await listEventTypes(db, project.id)).find((row) => row.id === id),
    view: () => toEventType,
  });
  type.all({ summary: 'List the event types of the project by name.', portal: 'read', read: seenTypes });
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
      handle: async (call) => {
        const { project } = call;
        const seen = await seenTypes(call);
        const version = String((await getConfigVersion(db, project.id)) ?? 0);
        const catalogue = { title: project.name, version, types: describedTypes(seen, project.config) };
        return suffix === 'openapi' ? openApiOf(catalogue) : asyncApiOf(catalogue);
      },
    });
  }
  type.create({
    body: CreateEventType,
    make: async ({ by, body, project }) => {
      const { describe, UNDESCRIBED } = await import('./describe-event-type.ts');
      const made = { name: body.name, ...describe(UNDESCRIBED, body) };
      checkUsableSchema(project.config, made.json_schema, 'json_schema');
      return createEventType(changes, by, made);
    },
  });
  type.update({
    summary: 'Update the description of an event type. Fields that are not named keep their value.',
    status: 201,
    body: UpdateEventType,
    make: async ({ by, params, body, project }) => {
      checkUsableSchema(project.config, body.json_schema, 'json_schema');
      const { describe } = await import('./describe-event-type.ts');
      return updateEventType(changes, { ...by, id: params.eventTypeID }, (known) => describe(known, body));
    },
  });
  type.act('post', 'deprecate', {
    id: 'deprecateEventType',
    summary: 'Mark an event type as deprecated. It still works.',
    status: 201,
    message: 'Event type deprecated',
    make: ({ by, params }) => deprecateEventType(changes, { ...by, id: params.eventTypeID }),
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
      const rows = await importEventTypes(changes, by, types);
      return rows.map(toEventType);
    },
    again: async ({ project }, { ids }) =>
      (await listEventTypes(db, project.id)).filter(({ id }) => ids.includes(id)).map(toEventType),
  });
}
