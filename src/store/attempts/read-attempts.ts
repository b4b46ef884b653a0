import type { ProjectId } from '../../domain/ids.ts';
import type { Queryable } from '../database/database.ts';
import { MAX_PAGE_BYTES } from '../database/list-page.ts';
import type { Attempt } from './attempt.ts';
import { type StoredRecord, templateField, unpacked } from './packed-attempt.ts';

export interface StoredAttempt extends Omit<Attempt, 'outcome'> {
  deliveryId: string;
  projectId: string;
  endpointId: string;
  isStale: boolean;
}

interface AttemptRow extends StoredRecord {
  project_id: string;
  endpoint_id: string;
  succeeded: boolean;
  is_stale: boolean;
  response_body: Buffer | null;
  requested_at: number;
}

const COLUMNS = `a.id, a.delivery_id, a.project_id, a.endpoint_id, a.succeeded, a.is_stale, a.response_body, a.requested_at,
  a.template_id, a.record`;
const TEMPLATE = templateField('a', 'template_id');

function fromRow(row: AttemptRow): StoredAttempt {
  return {
    ...unpacked(row),
    id: row.id,
    deliveryId: row.delivery_id,
    projectId: row.project_id,
    endpointId: row.endpoint_id,
    succeeded: row.succeeded,
    isStale: row.is_stale,
    responseBody: row.response_body,
    requestedAtMs: row.requested_at,
  };
}

/** False: its headers and the body of its response are left out of the list. */
export type ListedAttempt = StoredAttempt & { isWhole: boolean };

/** A record without a template, of an endpoint with many headers, may be longer. */
const SHORT_RECORD_BYTES = 1_024;
const LEFT_OUT = JSON.stringify([
  [0],
  'Too large for this list. The attempt itself has it all.',
  '',
  null,
  null,
  0,
  null,
]);

/**
 * Oldest first. A delivery has up to 1,000 attempts, each with up to 50 KiB of a response. The latest are whole, up to
 * MAX_PAGE_BYTES together. Sizes are known without reading the values.
 */
export async function listAttempts(
  db: Queryable,
  projectId: ProjectId,
  deliveryId: string,
): Promise<ListedAttempt[]> {
  const rows = await db.query<AttemptRow & { is_whole: boolean }>(
    `select a.id, a.delivery_id, a.project_id, a.endpoint_id, a.succeeded, a.is_stale, a.requested_at, is_whole,
       case when is_whole then response_body end as response_body,
       case when is_short then template_id end as template_id, case when is_short then record else $3 end as record, ${TEMPLATE}
     from (
       select *, is_whole or octet_length(record) <= ${SHORT_RECORD_BYTES} as is_short from (
         select ${COLUMNS}, row_number() over latest = 1 or sum(
             octet_length(record) + coalesce(octet_length(response_body), 0)
           ) over latest <= ${MAX_PAGE_BYTES} as is_whole
         from attempts a where delivery_id = $1 and project_id = $2
         window latest as (order by id desc)
       ) sized
     ) a order by id`,
    [deliveryId, projectId, LEFT_OUT],
  );
  return rows.map((row) => {
    const attempt = fromRow(row);
    const headers = row.is_whole ? {} : { requestHeaders: {}, responseHeaders: null };
    return { ...attempt, ...headers, isWhole: row.is_whole };
  });
}

/** The last attempt of each delivery that has one. */
export async function lastAttempts(
  db: Queryable,
  projectId: string,
  deliveryIds: readonly string[],
): Promise<StoredAttempt[]> {
  const rows = await db.query<AttemptRow>(
    `select a.*, ${TEMPLATE} from unnest($2::text[]) d(id) cross join lateral (
       select ${COLUMNS} from attempts a where project_id = $1 and delivery_id = d.id order by id desc limit 1
     ) a`,
    [projectId, deliveryIds],
  );
  return rows.map(fromRow);
}

export async function getAttempt(
  db: Queryable,
  projectId: ProjectId,
  attempt: { deliveryId: string; id: string },
): Promise<StoredAttempt | undefined> {
  const [found] = await attemptsByIds(db, projectId, [
    { deliveryId: attempt.deliveryId, attemptId: attempt.id },
  ]);
  return found;
}

/** The attempts that are recorded. */
export async function attemptsByIds(
  db: Queryable,
  projectId: string,
  attempts: readonly { deliveryId: string; attemptId: string }[],
): Promise<StoredAttempt[]> {
  const rows = await db.query<AttemptRow>(
    `select ${COLUMNS}, ${TEMPLATE} from unnest($2::text[], $3::text[]) as wanted(delivery_id, id)
     join attempts a on a.project_id = $1 and a.delivery_id = wanted.delivery_id and a.id = wanted.id`,
    [projectId, attempts.map(({ deliveryId }) => deliveryId), attempts.map(({ attemptId }) => attemptId)],
  );
  return rows.map(fromRow);
}
