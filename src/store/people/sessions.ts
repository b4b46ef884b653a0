import type { Role } from '../../domain/role.ts';
import type { HotQueryable, Queryable } from '../database/database.ts';
import { lookUp } from '../database/look-up.ts';

export interface SessionRow {
  id: string;
  person_id: string;
  method: string;
  has_second_factor: boolean;
  address: string;
  user_agent: string;
  last_used_at: number;
  expires_at: number;
}

/** A live session with its person, as a request needs it. */
export interface OpenedSession extends SessionRow {
  is_instance_admin: boolean;
  roles: Record<string, Role>;
}

const COLUMNS = 'id, person_id, method, has_second_factor, address, user_agent, last_used_at, expires_at';

export async function insertSession(
  tx: Queryable,
  session: Omit<SessionRow, 'last_used_at' | 'expires_at'> & { hash: Buffer; seconds: number },
): Promise<SessionRow> {
  const [row] = await tx.query<SessionRow>(
    `insert into sessions (id, person_id, hash, method, has_second_factor, address, user_agent, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8)) returning ${COLUMNS}`,
    [
      session.id,
      session.person_id,
      session.hash,
      session.method,
      session.has_second_factor,
      session.address,
      session.user_agent,
      session.seconds,
    ],
  );
  return row as SessionRow;
}

const FOUND = `
with found as materialized (
  select s.id, s.person_id, s.method, s.has_second_factor, s.address, s.user_agent, s.last_used_at, s.expires_at, s.hash,
    p.is_instance_admin, s.last_used_at > now() - interval '1 minute' as is_recent,
    coalesce((select json_object_agg(m.project_id, m.role) from memberships m where m.person_id = p.id), '{}') as roles
  from sessions s join people p on p.id = s.person_id
  where s.hash = any($1::bytea[]) and s.expires_at > now() and p.deactivated_at is null
    and s.last_used_at > now() - make_interval(secs => $2)
)`;

/** The live sessions with these hashes, in their order. A lookup records the use, to the minute. */
export const findSessions = (
  db: HotQueryable,
  hashes: readonly Buffer[],
  idleSeconds: number,
): Promise<(OpenedSession | undefined)[]> =>
  lookUp(db, { name: 'find-sessions', table: 'sessions', found: FOUND }, [hashes, idleSeconds]);

/** The live sessions of a person, newest first. */
export function listSessions(db: Queryable, personId: string, idleSeconds: number): Promise<SessionRow[]> {
  return db.query<SessionRow>(
    `select ${COLUMNS} from sessions
     where person_id = $1 and expires_at > now() and last_used_at > now() - make_interval(secs => $2)
     order by id desc`,
    [personId, idleSeconds],
  );
}

export async function endSession(
  tx: Queryable,
  personId: string,
  id: string,
): Promise<SessionRow | undefined> {
  const [row] = await tx.query<SessionRow>(
    `delete from sessions where person_id = $1 and id = $2 returning ${COLUMNS}`,
    [personId, id],
  );
  return row;
}

/** Ends the sessions of a person, all or all but one. */
export function endSessions(tx: Queryable, personId: string, exceptId = ''): Promise<SessionRow[]> {
  return tx.query<SessionRow>(`delete from sessions where person_id = $1 and id <> $2 returning ${COLUMNS}`, [
    personId,
    exceptId,
  ]);
}

export async function endSessionByHash(tx: Queryable, hash: Buffer): Promise<SessionRow | undefined> {
  const [row] = await tx.query<SessionRow>(`delete from sessions where hash = $1 returning ${COLUMNS}`, [
    hash,
  ]);
  return row;
}

export async function getSession(db: Queryable, id: string): Promise<SessionRow | undefined> {
  const [row] = await db.query<SessionRow>(`select ${COLUMNS} from sessions where id = $1`, [id]);
  return row;
}
