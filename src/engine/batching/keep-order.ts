import { LANE, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import type { BatchFinish, Finish } from '../../store/queue/finish.ts';
import { stateAsBefore } from '../attempt/sent.ts';

/**
 * The finish of a batch with deliveries behind others of their ordering key. As long as the batch goes on as it is, they go
 * with it. When it is divided, those of a key stay together only with the first of them; the others wait for their turn
 * again, which uses no tries. If a failure holds their key, one that would fail for good behind the first waits too: it
 * fails when it is the first, and holds its key then. At most once ends all, because all were sent.
 */
export function keepOrder<T extends BatchFinish>(
  finish: T,
  isHeld: (subscriptionId: string | null) => boolean,
): T {
  if (finish.delayMs !== null || !finish.members.some(isBehind)) return finish;
  const partOf = new Map(
    finish.parts.flatMap(({ id, deliveryIds }) => deliveryIds.map((each) => [each, id])),
  );
  /** By key: the part that those before have stayed in. */
  const staysIn = new Map<string, string | undefined>();
  const members = finish.members.map((own) => {
    const { id, orderingId } = own.delivery;
    if (orderingId === null) return own;
    const part = own.delayMs === null ? undefined : partOf.get(id);
    if (!isBehind(own)) staysIn.set(orderingId, part);
    else if (!endsHere(own, isHeld) && (part === undefined || part !== staysIn.get(orderingId))) {
      staysIn.set(orderingId, undefined);
      return waitsAgain(own);
    }
    return own;
  });
  const left = new Set<string>(
    members.filter((own, n) => own !== finish.members[n]).map(({ delivery }) => delivery.id),
  );
  const parts = finish.parts
    .map(({ id, deliveryIds }) => ({ id, deliveryIds: deliveryIds.filter((each) => !left.has(each)) }))
    .filter(({ deliveryIds }) => deliveryIds.length > 0);
  return { ...finish, members, parts };
}

const isBehind = ({ delivery }: Finish): boolean => delivery.isBehind === true;

const endsHere = (
  { status, delayMs, delivery }: Finish,
  isHeld: (subscriptionId: string | null) => boolean,
): boolean =>
  delayMs === null &&
  (status !== 'Failure' || delivery.deliveryMode === 'at_most_once' || !isHeld(delivery.subscriptionId));

const waitsAgain = (own: Finish): Finish => ({
  ...own,
  status: stateAsBefore(own.delivery),
  numTrials: own.delivery.numTrials,
  delayMs: 0,
  lane: (own.delivery.numTrials === 0 ? LANE.first : LANE.retry) + WAITS_FOR_TURN,
});
