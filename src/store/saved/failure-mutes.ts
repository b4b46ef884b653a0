import type { Actor } from '../../domain/audit.ts';
import type { Queryable } from '../database/database.ts';

/** A muted group of failures: the deliveries of an endpoint whose last attempt ended alike. It is over after `until`. */
export interface FailureMuteRow {
  id: string;
  project_id: string;
  endpoint_id: string;
  outcome: string;
  until: number;
  actor_type: Actor['type'];
  actor_id: string | null;
}

/** With the name of the person or key, if it still has one. */
export interface NamedMuteRow extends FailureMuteRow {
  actor_name: string | null;
}

const COLUMNS = 'id, project_id, endpoint_id, outcome, until, actor_type, actor_id';

export function listFailureMutes(db: Queryable, projectId: string): Promise<NamedMuteRow[]> {
  return db.query<NamedMuteRow>(
    `select ${COLUMNS}, case actor_type
       when 'person' then (select name from people p where p.id = actor_id)
       when 'api_key' then (select name from api_keys k where k.id = actor_id) end as actor_name
     from failure_mutes where project_id = $1 and until > now()`,
    [projectId],
  );
}

/** The mute of a group, locked for a change. */
export async function failureMuteOf(
  tx: Queryable,
  { project_id, endpoint_id, outcome }: Pick<FailureMuteRow, 'project_id' | 'endpoint_id' | 'outcome'>,
): Promise<FailureMuteRow | undefined> {
  const [row] = await tx.query<FailureMuteRow>(
    `select ${COLUMNS} from failure_mutes where project_id = $1 and endpoint_id = $2 and outcome = $3 for update`,
    [project_id, endpoint_id, outcome],
  );
  return row;
}

/** A group that is muted already keeps its id and gets the new end. */
export async function saveFailureMute(tx: Queryable, mute: FailureMuteRow): Promise<FailureMuteRow> {
  const [row] = await tx.query<FailureMuteRow>(
    `insert into failure_mutes (${COLUMNS}) values ($1, $2, $3, $4, to_timestamp($5::float8 / 1000), $6, $7)
     on conflict (project_id, endpoint_id, outcome) do update
       set until = excluded.until, actor_type = excluded.actor_type, actor_id = excluded.actor_id
     returning ${COLUMNS}`,
    [mute.id, mute.project_id, mute.endpoint_id, mute.outcome, mute.until, mute.actor_type, mute.actor_id],
  );
  return row as FailureMuteRow;
}

export async function deleteFailureMute(
  tx: Queryable,
  projectId: string,
  id: string,
): Promise<FailureMuteRow | undefined> {
  const [row] = await tx.query<FailureMuteRow>(
    `delete from failure_mutes where project_id = $1 and id = $2 returning ${COLUMNS}`,
    [projectId, id],
  );
  return row;
}

export async function countFailureMutes(tx: Queryable, projectId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    'select count(*) as count from failure_mutes where project_id = $1 and until > now()',
    [projectId],
  );
  return row?.count ?? 0;
}
