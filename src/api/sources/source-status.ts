import type { Static } from 'typebox';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { type BrokerStatusRow, readBrokerStatus } from '../../store/brokers/broker-status.ts';
import type { SourceRow } from '../../store/config/sources.ts';
import type { Queryable } from '../../store/database/database.ts';
import { isoOrNull, NullableTime } from '../http/fields.ts';

/** How a source of a broker is doing, over all nodes. */
export const SourceStatus = Type.Object({
  state: oneOf(
    ['connecting', 'running', 'waiting', 'disabled'],
    'waiting: it cannot take messages now, for the reason given, and tries again by itself.',
  ),
  reason: Type.String({ description: 'Why it waits; while it runs, what its owner should know.' }),
  last_message_at: NullableTime,
  last_error: Type.String(),
  last_error_at: NullableTime,
  lag: nullable(
    Type.Integer(),
    'Messages that wait in the broker, or bytes of the log of a database; null where that is not known.',
  ),
});
type SourceStatus = Static<typeof SourceStatus>;

const NO_NODE = 'No node with the role broker has begun with this source yet.';

export const isBroker = ({ type }: SourceRow): boolean => type !== 'http' && type !== 'rest_api';

/** By the id of the source; of those that are none of a broker there is no status. */
export async function sourceStatuses(
  db: Queryable,
  projectId: string,
  rows: readonly SourceRow[],
): Promise<Map<string, SourceStatus>> {
  const brokers = rows.filter(isBroker);
  const ids = brokers.map(({ id }) => id);
  const byNode = await readBrokerStatus(db, projectId, ids);
  return new Map(brokers.map((row) => [row.id, statusOf(row, byNode.get(row.id) ?? [])]));
}

function statusOf(source: SourceRow, nodes: readonly BrokerStatusRow[]): SourceStatus {
  const lags = nodes.flatMap(({ lag }) => lag ?? []);
  const failed = nodes.toSorted((a, b) => (b.lastErrorAt ?? 0) - (a.lastErrorAt ?? 0))[0];
  const lastMessageAt = Math.max(0, ...nodes.map((node) => node.lastMessageAt ?? 0));
  return {
    ...stateOf(source, nodes),
    last_message_at: isoOrNull(lastMessageAt === 0 ? null : lastMessageAt),
    last_error: failed?.lastError ?? '',
    last_error_at: isoOrNull(failed?.lastErrorAt ?? null),
    lag: lags.length === 0 ? null : hasParts(source) ? sum(lags) : Math.max(...lags),
  };
}

/** Nodes share out the partitions of Kafka, and each knows the lag of its own. Of a queue each knows the whole. */
const hasParts = ({ secret }: SourceRow): boolean => secret.reveal().pub_sub?.type === 'kafka';
const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

/** One node that takes messages is enough: brokers give them to any. */
function stateOf(
  source: SourceRow,
  nodes: readonly BrokerStatusRow[],
): Pick<SourceStatus, 'state' | 'reason'> {
  if (source.is_disabled) return { state: 'disabled', reason: '' };
  const running = nodes.filter(({ state }) => state === 'running');
  if (running.length > 0)
    return { state: 'running', reason: running.find(({ reason }) => reason !== '')?.reason ?? '' };
  const waiting = nodes.find(({ state }) => state === 'waiting');
  if (waiting !== undefined) return { state: 'waiting', reason: waiting.reason };
  return { state: 'connecting', reason: nodes.length === 0 ? NO_NODE : '' };
}
