import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { actorTypes, changeOf } from '../../domain/audit.ts';
import { parseOutcomes } from '../../domain/delivery.ts';
import { found, invalid } from '../../domain/errors.ts';
import { asId } from '../../domain/ids.ts';
import { nullable, oneOf, RequiredText, Type } from '../../platform/type.ts';
import { audited } from '../../store/audit/audit-entries.ts';
import {
  countFailureMutes,
  deleteFailureMute,
  failureMuteOf,
  listFailureMutes,
  type NamedMuteRow,
  saveFailureMute,
} from '../../store/saved/failure-mutes.ts';
import type { ReadContext } from '../http/context.ts';
import { iso, Nothing, parseFutureTime, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

const path = '/api/v1/projects/:projectID/failures/mutes';
const route = operationsOf('Event deliveries');
const DEFAULT_MS = 86_400_000;
const MAX_MS = 90 * 86_400_000;
const MAX_MUTES = 500;

const MuteFailures = Type.Object({
  endpoint_id: RequiredText(64),
  outcome: RequiredText(64, 'The cause, as `outcome` of the group.'),
  until: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When the mute ends: in 24 hours by default, in 90 days at the latest.',
    }),
  ),
});

/** As a group of failures shows it. */
export const FailureMute = Type.Object({
  uid: Type.String(),
  until: Time,
  by: Type.Object(
    {
      type: oneOf(actorTypes),
      uid: nullable(Type.String()),
      name: Type.String({ description: 'The name of the person or key; empty if there is none.' }),
    },
    { description: 'The actor who muted it.' },
  ),
});

/** A mute only sorts: groups that are muted are in the list of failures, alerts are sent, deliveries are tried. */
export function registerFailureMutes(app: FastifyInstance, context: ReadContext): void {
  route.post(app, path, {
    id: 'muteFailures',
    summary: 'Mute a group of failures until a time, for all users of the project.',
    body: MuteFailures,
    status: 201,
    message: 'Failures muted',
    data: Type.Object({
      uid: Type.String(),
      endpoint_id: Type.String(),
      outcome: Type.String(),
      until: Time,
    }),
    access: 'developer',
    handle: async ({ by, body, project }) => {
      const { endpoint_id, outcome } = body;
      if (parseOutcomes([outcome])?.prefixes.length !== 0)
        throw invalid('outcome', 'must be the outcome of a group, such as http_503 or timeout');
      const endpoint = await context.endpoints.get(context.db, project.id, asId(endpoint_id));
      found(endpoint, 'endpoint', endpoint_id);
      const group = { project_id: project.id, endpoint_id, outcome };
      const mute = {
        ...group,
        id: context.ids.next(),
        until: endOf(body, context.now()),
        actor_type: by.actor.type,
        actor_id: by.actor.id,
      };
      const { id, until } = await audited(context, by, async (tx) => {
        const known = (await failureMuteOf(tx, group)) ?? null;
        if (known === null && (await countFailureMutes(tx, project.id)) >= MAX_MUTES)
          throw invalid('outcome', `a project has at most ${MAX_MUTES} muted groups; unmute one first`);
        const result = await saveFailureMute(tx, mute);
        return { result, audit: [changeOf('failures.muted', known, result)] };
      });
      return { uid: id, endpoint_id, outcome, until: iso(until) };
    },
    again: async ({ project }, made) => {
      const mute = (await listFailureMutes(context.db, project.id)).find(({ id }) => id === made.id);
      const { id, endpoint_id, outcome, until } = found(mute, 'mute', made.id);
      return { uid: id, endpoint_id, outcome, until: iso(until) };
    },
  });
  route.delete(app, `${path}/:muteID`, {
    id: 'unmuteFailures',
    summary: 'Unmute a group of failures.',
    message: 'Failures unmuted',
    data: Nothing,
    access: 'developer',
    handle: ({ by, params: { muteID: id } }) =>
      audited(context, by, async (tx) => {
        const gone = found(await deleteFailureMute(tx, by.projectId, id), 'mute', id);
        return { result: null, audit: [changeOf('failures.unmuted', gone, null)] };
      }),
  });
}

function endOf({ until }: Static<typeof MuteFailures>, nowMs: number): number {
  if (until === undefined) return nowMs + DEFAULT_MS;
  const ms = parseFutureTime('until', until, nowMs);
  if (ms > nowMs + MAX_MS) throw invalid('until', 'must be at most 90 days away');
  return ms;
}

export function toFailureMute(row: NamedMuteRow): Static<typeof FailureMute> {
  const { id, until, actor_type: type, actor_id: uid, actor_name: name } = row;
  return { uid: id, until: iso(until), by: { type, uid, name: name ?? '' } };
}
