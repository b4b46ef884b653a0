import type { Actor, AuditNote } from '../domain/audit.ts';
import { found } from '../domain/errors.ts';
import { audited } from '../store/audit/audit-entries.ts';
import { notifyOfPerson } from '../store/database/notify-nodes.ts';
import { endSession, endSessions, type SessionRow } from '../store/people/sessions.ts';
import { endingRights, type PeopleDeps } from './people-deps.ts';

export interface Self {
  personId: string;
  actor: Actor;
}

export function endOwnSession(deps: PeopleDeps, { personId, actor }: Self, id: string): Promise<null> {
  return endingRights(deps, personId, () =>
    audited(deps, { projectId: null, actor }, async (tx) => {
      const session = found(await endSession(tx, personId, id), 'session', id, '');
      await notifyOfPerson(tx, personId);
      return { result: null, audit: [sessionEnded(session)] };
    }),
  );
}

export function endOtherSessions(
  deps: PeopleDeps,
  { personId, actor }: Self,
  currentId: string,
): Promise<null> {
  return endingRights(deps, personId, () =>
    audited(deps, { projectId: null, actor }, async (tx) => {
      const ended = await endSessions(tx, personId, currentId);
      await notifyOfPerson(tx, personId);
      return { result: null, audit: ended.map(sessionEnded) };
    }),
  );
}

export function sessionEnded({ id, person_id, method }: SessionRow): AuditNote {
  return { action: 'session.ended', resourceId: id, before: { person: person_id, method }, after: null };
}
