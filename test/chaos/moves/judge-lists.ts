import type { Json } from '../../support/client.ts';
import type { ChaosLoad } from '../chaos-load.ts';
import type { Problems } from '../judges/problems.ts';
import type { Moved } from './moving.ts';

/**
 * The list of events has each event once, newest first. A move does not change the order: an event that was answered before
 * the project closed comes before one that was sent after the switch, though another database gave its id.
 */
const PROMISE = 'lists keep their order';

export function judgeLists(
  listed: readonly string[],
  { load, moves }: { load: ChaosLoad; moves: readonly Moved[] },
  problems: Problems,
): void {
  const sorted = [...new Set(listed)].toSorted((a, b) => (a < b ? 1 : -1));
  if (sorted.join() !== listed.join()) problems.add(PROMISE, 'the list of events is not in order');
  const shown = new Set(listed);
  problems.expectNone(
    PROMISE,
    'accepted events are not in the list',
    [...load.accepted.keys()].filter((id) => !shown.has(id)),
  );
  const accepted = [...load.accepted].map(([id, { startedAt, at }]) => ({ id, startedAt, at }));
  for (const { closedAt, switchedAt } of moves) {
    if (closedAt === null || switchedAt === null) continue;
    const before = accepted.filter(({ at }) => at < closedAt).map(({ id }) => id);
    const after = accepted.filter(({ startedAt }) => startedAt > switchedAt).map(({ id }) => id);
    const newest = before.toSorted().at(-1) ?? '';
    problems.expectNone(
      PROMISE,
      'events after a move are listed as older than one before it',
      after.filter((id) => id < newest),
    );
  }
}

/** All pages of the list of events, newest first. */
export async function listEvents(base: string, key: string): Promise<string[]> {
  const listed: string[] = [];
  for (let query = '?perPage=500'; query !== ''; ) {
    const response = await fetch(`${base}/events${query}`, { headers: { authorization: key } });
    const { data } = (await response.json()) as Json;
    listed.push(...data.content.map(({ uid }: Json) => uid));
    const { has_next_page, next_page_cursor } = data.pagination;
    query = has_next_page ? `?perPage=500&next_page_cursor=${next_page_cursor}` : '';
  }
  return listed;
}

/** How long callers found the project closed: until the first answer to a call that began after it had closed. */
export function closedForMs({ load, moved }: { load: ChaosLoad; moved: Moved }): number | null {
  const { closedAt } = moved;
  if (closedAt === null) return null;
  const first = [...load.accepted.values()]
    .filter(({ startedAt }) => startedAt > closedAt)
    .reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY);
  return first === Number.POSITIVE_INFINITY ? null : first - closedAt;
}
