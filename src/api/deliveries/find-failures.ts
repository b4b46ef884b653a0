import type { ProjectRouting } from '../../routing/project-routing.ts';
import { endpointsWithFailures } from '../../store/counts/read-counts.ts';
import type { Queryable } from '../../store/database/database.ts';
import { unlessTooSlow } from '../../store/database/unless-too-slow.ts';
import type { DeliveryFilter } from '../../store/history/event-deliveries.ts';
import {
  type FailureGroup,
  firstFailures,
  groupFailures,
  hasMoreOpen,
  keysWithRetries,
  sampleFailures,
} from '../../store/history/failure-groups.ts';
import type { ReadContext } from '../http/context.ts';

/**
 * Groups failing deliveries by endpoint and cause: open deliveries that were tried and failed, of any age, and deliveries of the
 * range that ended as Failure.
 *
 * The queue has the former. Up to 20,000 open deliveries of the project are all read. If there are more, which is when an
 * endpoint is down, each queue key is read up to its share, so that no endpoint hides the others.
 *
 * No index has the latter: deliveries are read by endpoint, and only those endpoints are read that had failures according
 * to the time series. So a project of 10,000 endpoints with few failing ones costs little.
 *
 * Endpoints are read some at a time until the time is up. A statement that takes too long costs its groups, and never the
 * answer.
 */
const RANGE_MS = 86_400_000;
const LIMIT_MS = 3_000;
const AT_A_TIME = 20;
const MOST_OPEN = 20_000;
/** Every queue key may read at least this many rows, however many keys there are. */
const LEAST_SHARE = 1_000;

interface Found {
  groups: FailureGroup[];
  isComplete: boolean;
}

/** One question to the database, and null if it took too long or the time is up. */
type Ask = <T>(question: (tx: Queryable) => Promise<T>) => Promise<T | null>;

export async function findFailures(
  { db, cache, now }: ReadContext,
  projectId: ProjectRouting['project']['id'],
  filter: DeliveryFilter,
): Promise<Found> {
  const deadline = performance.now() + LIMIT_MS;
  const ask: Ask = async (question) =>
    performance.now() > deadline ? null : unlessTooSlow(db.reading(projectId, question));
  const routing = await cache.get(projectId);
  const named = filter.endpointIds ?? [];
  const endpointIds = named.length > 0 ? named : [...routing.endpoints.keys()];
  const toMs = filter.toMs ?? now();
  const range = { fromMs: filter.fromMs ?? toMs - RANGE_MS, toMs };
  const open = await findOpen(ask, routing, { ...filter, fromMs: undefined, endpointIds: named });
  const ended = await findEnded(ask, projectId, { ...filter, ...range, endpointIds });
  const groups = merged([...open.groups, ...ended.groups]);
  const oldest = groups.map((group) => group.oldest);
  const firsts = await ask((tx) => firstFailures(tx, projectId, oldest));
  return {
    groups: groups.map((group) => sinceFirst(group, firsts?.get(group.oldest))),
    isComplete: open.isComplete && ended.isComplete,
  };
}

async function findOpen(ask: Ask, routing: ProjectRouting, filter: DeliveryFilter): Promise<Found> {
  const projectId = routing.project.id;
  const isMany = await ask((tx) => hasMoreOpen(tx, projectId, MOST_OPEN));
  if (isMany === false) {
    const groups = await ask((tx) => groupFailures(tx, projectId, { ...filter, statuses: ['Retry'] }));
    if (groups !== null) return { groups, isComplete: true };
  }
  const keys = await ask((tx) => keysWithRetries(tx, queueKeys(routing, filter.endpointIds ?? [])));
  const most = Math.max(LEAST_SHARE, Math.floor(MOST_OPEN / (keys?.length || 1)));
  return inParts(keys, (part) => ask((tx) => sampleFailures(tx, projectId, { filter, keys: part, most })));
}

async function findEnded(
  ask: Ask,
  projectId: string,
  filter: DeliveryFilter & { fromMs: number; toMs: number; endpointIds: string[] },
): Promise<Found> {
  const failing = await ask((tx) => endpointsWithFailures(tx, projectId, filter));
  return inParts(failing, async (endpointIds) => {
    const wanted: DeliveryFilter = { ...filter, statuses: ['Failure'], endpointIds };
    const groups = await ask((tx) => groupFailures(tx, projectId, wanted));
    return groups && { groups, isWhole: true };
  });
}

/** The groups of some endpoints or keys at a time. */
async function inParts(
  all: string[] | null,
  read: (part: string[]) => Promise<{ groups: FailureGroup[]; isWhole: boolean } | null>,
): Promise<Found> {
  const found: Found = { groups: [], isComplete: all !== null };
  for (let at = 0; at < (all ?? []).length; at += AT_A_TIME) {
    const part = await read((all ?? []).slice(at, at + AT_A_TIME));
    found.groups.push(...(part?.groups ?? []));
    found.isComplete &&= part?.isWhole === true;
  }
  return found;
}

/** Where deliveries of the endpoints wait; of all, if none is named. */
export function queueKeys(routing: ProjectRouting, named: readonly string[]): string[] {
  const { endpoints, subscriptions } = routing;
  const wanted = new Set(named);
  const own = [...subscriptions.values()]
    .filter((one) => routing.queueKey(one) === one.row.id)
    .filter(({ row }) => named.length === 0 || wanted.has(row.endpoint_id))
    .map(({ row }) => row.id);
  return [...(named.length > 0 ? named : endpoints.keys()), ...own];
}

/** A delivery has the time of its last try, which each retry moves. So the oldest one tells when the group began. */
const sinceFirst = (group: FailureGroup, firstAt = group.first_at): FailureGroup => ({
  ...group,
  first_at: Math.min(group.first_at, firstAt),
});

export const groupKey = ({ endpoint_id, outcome }: Pick<FailureGroup, 'endpoint_id' | 'outcome'>): string =>
  `${endpoint_id} ${outcome}`;

/** An endpoint may have open and ended deliveries with the same cause, and queue keys of its own and its subscriptions. */
function merged(groups: readonly FailureGroup[]): FailureGroup[] {
  const byCause = new Map<string, FailureGroup>();
  for (const group of groups) {
    const key = groupKey(group);
    const known = byCause.get(key);
    byCause.set(key, known === undefined ? group : bothOf(known, group));
  }
  return [...byCause.values()];
}

function bothOf(a: FailureGroup, b: FailureGroup): FailureGroup {
  return {
    ...a,
    retrying: a.retrying + b.retrying,
    failed: a.failed + b.failed,
    first_at: Math.min(a.first_at, b.first_at),
    last_at: Math.max(a.last_at, b.last_at),
    oldest: a.oldest < b.oldest ? a.oldest : b.oldest,
    has_more: a.has_more || b.has_more,
  };
}
