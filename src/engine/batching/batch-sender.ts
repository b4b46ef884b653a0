import { batchRefusal, MAX_BATCH_BYTES } from '../../domain/config/batch.ts';
import { BATCH_LANE, LANE, type LeasedBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import type { Room } from '../../platform/shared-room.ts';
import type { ConfigCache } from '../../routing/config-cache.ts';
import type { ProjectRouting, RoutedEndpoint } from '../../routing/project-routing.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { BatchSize } from '../../store/batching/take-batch.ts';
import type { BatchFinish, Finish } from '../../store/queue/finish.ts';
import type { DeliverySender } from '../attempt/delivery-sender.ts';
import { makeBody } from '../attempt/make-body.ts';
import { back, type Sent } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { batchBody } from './batch-body.ts';
import { keepOrder } from './keep-order.ts';
import { groupFinish, halves, regrouped, tooLate, unsent } from './regroup.ts';
import { representativeOf } from './representative.ts';
import { spread } from './spread-outcome.ts';

/**
 * One attempt of one batch. Its deliveries are leased and read, and one delivery stands for all of them (representative.ts): gates,
 * limits, credentials, signature and judgement are those of any delivery. Its outcome is then that of each.
 *
 * A batch whose deliveries change is another batch, with a new id, because its body is another: some were cancelled or
 * have expired, or a function has ended them. It goes back to the queue in that case, as it does after its functions ran:
 * their results are stored before the first request. If they are larger than any batch may be, each half goes on.
 */
export interface BatchSenderDeps extends EnginePart<'sealer' | 'ids' | 'now'> {
  stored: {
    measure(batch: LeasedBatch): Promise<BatchSize>;
    /** Null: another node has some of the deliveries. */
    take(batch: LeasedBatch, hasBodies: boolean): Promise<LeasedDelivery[] | null>;
  };
  /** It is left when the outcome is recorded. */
  room: Pick<Room, 'enter'>;
  deliveries: Pick<DeliverySender, 'send'>;
  cache: Pick<ConfigCache, 'peek' | 'getOrNull'>;
  sandbox: Pick<Sandbox, 'run'>;
}

/** A payload is in its delivery, and in the body that is made of all. */
const COPIES = 2;
/** Measured: 1.2 kB for a delivery with its ids, and 0.55 kB for its outcome. */
const DELIVERY_BYTES = 1_800;
/** Another node frees them soon. */
const BUSY_MS = 1_000;
const FUNCTIONS_AT_ONCE = 8;
/** After so many bytes the results are stored before more functions run. */
const MADE_AT_ONCE = 4 * 1024 * 1024;

export class BatchSender {
  readonly #deps: BatchSenderDeps;

  constructor(deps: BatchSenderDeps) {
    this.#deps = deps;
  }

  async send(batch: LeasedBatch, signal: AbortSignal): Promise<Sent<BatchFinish>> {
    const sent = await this.#attempt(batch, signal);
    const subscriptions = this.#deps.cache.peek(batch.projectId)?.subscriptions;
    const isHeld = (id: string | null) => subscriptions?.get(id ?? '')?.row.ordering?.on_failure === 'hold';
    return keepOrder(sent, isHeld);
  }

  async #attempt(batch: LeasedBatch, signal: AbortSignal): Promise<Sent<BatchFinish>> {
    const { cache, stored, room, deliveries, ids } = this.#deps;
    const size = await stored.measure(batch);
    const isTooLarge = size.payloadBytes > MAX_BATCH_BYTES && batch.deliveryIds.length > 1;
    const bytes = memoryOf(batch, isTooLarge ? { ...size, payloadBytes: 0 } : size);
    if (!(await room.enter({ id: batch.id, sharer: batch.projectId }, bytes, signal)))
      return unsent(untaken(batch, 0));
    const members = await stored.take(batch, !isTooLarge);
    if (members === null) return unsent(untaken(batch, BUSY_MS));
    if (members.length === 0) return unsent(untaken(batch, null));
    if (isTooLarge && !batch.isStarted) return unsent(halves(batch, members.map(again), ids));
    const { projectId } = batch;
    const routing = cache.peek(projectId) ?? (await cache.getOrNull(projectId));
    const [first] = members as [LeasedDelivery];
    first.probeFence = batch.probeFence;
    const endpoint = routing?.endpoints.get(first.endpointId);
    const isSendable = routing !== null && endpoint !== undefined && !batch.isStarted;
    const content = isSendable ? await this.#content(batch, members, { routing, endpoint }) : NO_CONTENT;
    if ('verdict' in content) return content;
    const representative = representativeOf(batch, members, {
      ...content,
      routing,
      sealer: this.#deps.sealer,
    });
    const sent = await deliveries.send(representative, signal);
    return spread({ batch, members, representative }, sent, this.#deps);
  }

  /** The body, or why the batch is not sent as it is. */
  async #content(
    batch: LeasedBatch,
    members: readonly LeasedDelivery[],
    { routing, endpoint }: { routing: ProjectRouting; endpoint: RoutedEndpoint },
  ): Promise<Sent<BatchFinish> | { body: Buffer; contentType: string }> {
    if (batchRefusal(endpoint.row) !== null) return this.#dissolved(batch, members, routing);
    const { ids, now } = this.#deps;
    const late = tooLate(members, now());
    if (late.length > 0 || members.length < batch.deliveryIds.length)
      return unsent(regrouped(batch, { members, results: late }, ids));
    const made = await this.#made(members, { routing, endpoint });
    if (made.length > 0) return unsent(regrouped(batch, { members, results: made }, ids));
    const content = batchBody(members, endpoint.row, this.#deps);
    const most = endpoint.row.max_body_bytes;
    return most > 0 && content.body.length > most && members.length > 1
      ? unsent(halves(batch, members.map(again), ids))
      : content;
  }

  /**
   * The results of functions, for those of the deliveries that they have not run for. A request that one made before with
   * variables does not go to every address, so it is looked at before each attempt.
   */
  async #made(
    members: readonly LeasedDelivery[],
    at: { routing: ProjectRouting; endpoint: RoutedEndpoint },
  ): Promise<Finish[]> {
    const code = (member: LeasedDelivery) =>
      at.routing.subscriptions.get(member.subscriptionId ?? '')?.row.function ?? '';
    const open = members.filter(
      (member) => member.functionRequest !== null || (!member.hasOwnBody && code(member) !== ''),
    );
    const finishes: Finish[] = [];
    let bytes = 0;
    for (let from = 0; from < open.length && bytes < MADE_AT_ONCE; from += FUNCTIONS_AT_ONCE) {
      const some = open.slice(from, from + FUNCTIONS_AT_ONCE);
      const results = await Promise.all(some.map((member) => makeBody(this.#deps, member, at)));
      for (const [index, making] of results.entries()) {
        const member = some[index] as LeasedDelivery;
        if (making.kind === 'not made') finishes.push(making.sent);
        else if (member.functionRequest === null) {
          finishes.push({ ...back(member), ...making.made });
          bytes += making.made.body?.length ?? 0;
        }
      }
    }
    return finishes;
  }

  /** The endpoint takes no batches any more. */
  #dissolved(
    batch: LeasedBatch,
    members: readonly LeasedDelivery[],
    routing: ProjectRouting,
  ): Sent<BatchFinish> {
    const singles = members.map((member) => ({
      ...again(member),
      lane: member.numTrials === 0 ? LANE.first : LANE.retry,
      key: routing.keyOf(member.endpointId, member.subscriptionId),
    }));
    return unsent(groupFinish(batch, { members: singles, parts: [] }, { delayMs: null }));
  }
}

/** The bytes of a batch in memory, from before its deliveries are read until its outcome is recorded. */
const memoryOf = (
  { deliveryIds }: Pick<LeasedBatch, 'deliveryIds'>,
  { payloadBytes, textBytes }: BatchSize,
): number => deliveryIds.length * DELIVERY_BYTES + textBytes + payloadBytes * COPIES;

const untaken = (batch: LeasedBatch, delayMs: number | null) =>
  groupFinish(batch, { members: [], parts: [] }, { delayMs });

const NO_CONTENT = { body: Buffer.alloc(0), contentType: 'application/json' };

const again = (member: LeasedDelivery): Finish => ({
  ...back(member),
  lane: BATCH_LANE.member,
});
