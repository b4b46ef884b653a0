import type { HotQueryable } from '../database/database.ts';
import { plainArray } from '../database/packed-bytes.ts';

/**
 * Finds the messages of a lot that were stored before. Both forms run in the transaction that stores the lot, so that the events and
 * the note of their place in the broker are committed together. Rows are locked in key order: lots of two nodes cannot
 * deadlock, and of two lots of one stream the second waits for the first and sees what it stored.
 *
 * A stream with order has one row, the position of the last message stored. A stream without has one row per message.
 */
export interface StreamKey {
  sourceId: string;
  /** Names the broker and the part of it, by ids that are never used twice. */
  stream: string;
  projectId: string;
}

export interface StreamPosition extends StreamKey {
  /** Compares as text, byte by byte. */
  position: string;
}

export interface MessageKey extends StreamKey {
  messageId: string;
  /** For how long the broker may deliver it again. */
  keepMs: number;
}

export const streamName = ({ sourceId, stream }: Pick<StreamKey, 'sourceId' | 'stream'>): string =>
  `${sourceId}\n${stream}`;

const LOCK = `
select source_id, stream, position from broker_positions
where (source_id, stream) in (select * from unnest($1::text[], $2::text[]))
order by source_id, stream for update`;

/** A row that two nodes make at once: the second waits for the first and takes its position. */
const BEGIN = `
insert into broker_positions as p (source_id, stream, project_id, position)
select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as n(source_id, stream, project_id, position)
order by source_id, stream
on conflict (source_id, stream) do update set updated_at = now()
returning source_id, stream, position`;

const MOVE = `
update broker_positions p set position = n.position, updated_at = now()
from unnest($1::text[], $2::text[], $3::text[]) as n(source_id, stream, position)
where p.source_id = n.source_id and p.stream = n.stream and p.position < n.position`;

const KEEP = `
insert into broker_messages (source_id, stream, message_id, project_id, expires_at)
select source_id, stream, message_id, project_id, now() + keep_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::float8[])
  as n(source_id, stream, message_id, project_id, keep_ms)
order by source_id, stream, message_id
on conflict do nothing
returning source_id, stream, message_id`;

interface PositionRow {
  source_id: string;
  stream: string;
  position: string;
}

const columns = (keys: readonly StreamKey[]) => [
  plainArray(keys.map(({ sourceId }) => sourceId)),
  keys.map(({ stream }) => stream),
];

/** The positions of the streams, by `streamName`, locked to the end of the transaction; '' where nothing is stored yet. */
export async function lockPositions(
  tx: HotQueryable,
  streams: readonly StreamKey[],
): Promise<Map<string, string>> {
  const positions = new Map<string, string>();
  if (streams.length === 0) return positions;
  const note = (rows: PositionRow[]) => {
    for (const { source_id, stream, position } of rows)
      positions.set(streamName({ sourceId: source_id, stream }), position);
  };
  note(await tx.hot<PositionRow>('lock-positions', LOCK, columns(streams)));
  const fresh = streams.filter((key) => !positions.has(streamName(key)));
  if (fresh.length > 0) {
    const projects = plainArray(fresh.map(({ projectId }) => projectId));
    note(
      await tx.hot<PositionRow>('begin-positions', BEGIN, [...columns(fresh), projects, fresh.map(() => '')]),
    );
  }
  return positions;
}

export async function movePositions(tx: HotQueryable, moved: readonly StreamPosition[]): Promise<void> {
  if (moved.length === 0) return;
  await tx.hot('move-positions', MOVE, [...columns(moved), moved.map(({ position }) => position)]);
}

/** Which of the messages are new, as `<streamName>\n<message id>`; they are noted from here on. */
export async function keepMessages(tx: HotQueryable, messages: readonly MessageKey[]): Promise<Set<string>> {
  if (messages.length === 0) return new Set();
  const rows = await tx.hot<{ source_id: string; stream: string; message_id: string }>(
    'keep-messages',
    KEEP,
    [
      ...columns(messages),
      messages.map(({ messageId }) => messageId),
      plainArray(messages.map(({ projectId }) => projectId)),
      plainArray(messages.map(({ keepMs }) => keepMs)),
    ],
  );
  return new Set(
    rows.map((row) => messageName({ sourceId: row.source_id, stream: row.stream }, row.message_id)),
  );
}

export const messageName = (key: Pick<StreamKey, 'sourceId' | 'stream'>, messageId: string): string =>
  `${streamName(key)}\n${messageId}`;
