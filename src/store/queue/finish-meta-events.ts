import type { LeasedSingle } from '../../domain/delivery.ts';
import type { Database } from '../database/database.ts';
import { type Column, namesOf, Parameters } from '../database/parameters.ts';
import type { Finish } from './finish.ts';
import { inIdOrder, leasedByNode, moveQueueRows } from './queue-rows.ts';

type MetaFinish = Finish<LeasedSingle>;

/** Records outcomes of meta events, under the same fence as deliveries. Only the last attempt is kept. */
const attemptColumns: readonly Column<MetaFinish>[] = [
  ['http_status', 'text', ({ attempt }) => attempt?.httpStatus ?? null],
  ['error', 'text', ({ attempt }) => attempt?.error ?? null],
  ['request_headers', 'packed text', ({ attempt }) => asJson(attempt?.requestHeaders)],
  ['response_headers', 'packed text', ({ attempt }) => asJson(attempt?.responseHeaders)],
  ['response_body', 'bytes', ({ attempt }) => attempt?.responseBody ?? null],
];

const asJson = (headers: object | null | undefined) => (headers == null ? null : JSON.stringify(headers));

const parameters = new Parameters<{ nodeId: string; finishes: readonly MetaFinish[] }>();
const node = parameters.one('text', (batch) => batch.nodeId);
const f = parameters.rows(
  (batch) => batch.finishes,
  [
    ['delivery_id', 'id', ({ delivery }) => delivery.id],
    ['project_id', 'id', ({ delivery }) => delivery.projectId],
    ['fence', 'int', ({ delivery }) => delivery.fence],
    ['status', 'id', (f) => f.status],
    ['description', 'text', (f) => f.description],
    ['num_trials', 'int', (f) => f.numTrials],
    ['delay_ms', 'float8', (f) => f.delayMs],
    ['lane', 'int', (f) => f.lane],
    ['key', 'id', (f) => f.key],
    ['is_second_request', 'bool', (f) => f.isSecondRequest],
    ['was_tried', 'bool', (f) => f.attempt !== null],
    ...attemptColumns,
  ],
);
const ATTEMPT = namesOf(attemptColumns);

const FINISH = `
with f as materialized (
  select * from ${f.as('f')}
), ${moveQueueRows(leasedByNode(node))}
update meta_events m
set status = f.status, description = f.description, num_trials = f.num_trials,
  next_send_at = coalesce(now() + f.delay_ms * interval '1 millisecond', m.next_send_at), updated_at = now(),
  ${ATTEMPT.map((name) => `${name} = case when was_tried then ${f.value(name, 'f')} else m.${name} end`).join(',\n  ')}
from f
where m.id = f.delivery_id and coalesce(f.delivery_id in (select delivery_id from moved), false)
returning m.id`;

/** Ids of the meta events that were moved. Other nodes had claimed the rest. */
export async function finishMetaEvents(
  db: Database,
  nodeId: string,
  finishes: readonly MetaFinish[],
): Promise<Set<string>> {
  if (finishes.length === 0) return new Set();
  const values = parameters.values({ nodeId, finishes: inIdOrder(finishes) });
  const rows = await db.hot<{ id: string }>('finish-meta-events', FINISH, values);
  return new Set(rows.map((row) => row.id));
}
