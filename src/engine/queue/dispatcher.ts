import { BATCH_LANE, type Leased, type LeasedDelivery, type Place } from '../../domain/delivery.ts';
import type { Destination, QueueRowKey } from '../../domain/delivery-sink.ts';
import { metaEventsOf } from '../../domain/meta-event.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { SharedRoom } from '../../platform/shared-room.ts';
import { Tasks } from '../../platform/tasks.ts';
import { type AnyFinish, isOfBatch, isOfDelivery, ofDeliveries } from '../../store/queue/finish.ts';
import { countOutcome, countStart, logAttempt } from '../attempt/observe-outcome.ts';
import type { Sender } from '../attempt/sender.ts';
import { isTried, type Sent, type Tried } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { ConcurrencyCap } from './concurrency-cap.ts';
import type { Finisher } from './finisher.ts';
import type { Lease } from './lease.ts';

/**
 * The deliveries this node leases, in memory, bounded by the window. Each takes a place, a large one several, so the
 * window bounds their number and their bytes. States of each:
 *   reserved -> a place is taken before its row is stored as leased by this node;
 *   waiting  -> leased and due, queued behind its endpoint's other deliveries;
 *   sending  -> its request is being prepared, waits for its turn under a rate limit, or is in flight;
 *   recording -> its outcome is on the way to the database; then it leaves and its place is free.
 *
 * An endpoint may take at most half the window and send at most as many at a time as its concurrency cap, so
 * an endpoint that hangs cannot take the others' places. A project may take three times as many as it leaves
 * free, so endpoints of one project that hang together leave a quarter of the window to others. New events
 * may fill four fifths of the window. The rest is for claims, so that retries proceed under any load. While
 * the lease is not fresh nothing is sent, and waiting deliveries keep waiting.
 */
interface EndpointQueue {
  places: number;
  sending: number;
  waiting: Leased[];
}

export interface DispatcherDeps extends EnginePart<'clock' | 'metrics' | 'log'> {
  sender: Pick<Sender, 'send'>;
  finisher: Pick<Finisher, 'finish'>;
  lease: Lease;
  queue: QueueListener;
  outcomes: OutcomeListener;
  /** A delivery is no longer leased. */
  left(deliveryId: string): void;
  window: number;
  endpointConcurrency: number;
  /** Whether deliveries to it share a connection, as messages to a broker do. */
  sharesConnection(to: Destination): boolean;
}

/** Events of the dispatcher for the rest of the engine. */
interface QueueListener {
  /** Rows of a key wait in the queue, due in this many milliseconds. */
  waiting(place: Place, dueInMs: number): void;
  /** A place in the window became free. */
  roomFreed(): void;
  /** This node may lease these rows without knowing it. */
  unsure(rows: readonly QueueRowKey[]): void;
}

export interface OutcomeListener {
  attempted(sent: Tried): void;
  /** A probe was released, ended without an attempt, or its outcome could not be recorded. */
  notProbed(delivery: ProbedDelivery): void;
}

export type ProbedDelivery = Pick<LeasedDelivery, 'projectId' | 'endpointId' | 'probeFence'> & { id: string };

/** A broker confirms many messages together: the more of them are under way, the less each one costs. */
const SHARED_TIMES = 8;
const SHARE_OF_NEW_EVENTS = 0.8;
const PROJECT_GREED = 3;
const MAX_CAPS = 10_000;

export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #endpoints = new Map<string, EndpointQueue>();
  readonly #caps = new BoundedMap<string, ConcurrencyCap>(MAX_CAPS);
  /** Every place taken, by delivery id. */
  readonly #places = new Map<string, Destination & { places: number; silences: number }>();
  /** The deliveries of batches that are being sent, with the id of the batch. The next batch may have them before this one left. */
  readonly #members = new Map<string, string>();
  readonly #projects: SharedRoom;
  readonly #abort = new AbortController();
  readonly #sending = new Tasks();
  #closed = false;
  #silences = 0;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#projects = new SharedRoom(deps.window, PROJECT_GREED);
  }

  reserve(deliveryId: string, to: Destination, places = 1): boolean {
    // Other nodes may claim the rows of a silent node, so it stores new deliveries for any node.
    if (!this.#deps.lease.isFresh()) return false;
    const most = this.#deps.window * SHARE_OF_NEW_EVENTS;
    return this.#projects.left(to.projectId, most) > 0 && this.reserveClaimed(deliveryId, to, places);
  }

  /**
   * The claimer checked the project's room before it claimed. One free place is enough for a delivery that takes several,
   * so that none is too large, and none counts for more than half of what its endpoint may have.
   */
  reserveClaimed(deliveryId: string, { projectId, endpointId }: Destination, size = 1): boolean {
    if (this.#closed || this.#places.has(deliveryId) || this.room(endpointId) < 1) return false;
    const places = Math.min(size, Math.max(1, Math.floor(this.#share / 2)));
    this.#places.set(deliveryId, { projectId, endpointId, places, silences: this.#silences });
    this.#projects.take(projectId, places);
    this.#queue(endpointId).places += places;
    return true;
  }

  unreserve(deliveryId: string): void {
    const place = this.#places.get(deliveryId);
    if (place === undefined) return;
    this.#places.delete(deliveryId);
    this.#projects.leave(place.projectId, place.places);
    this.#deps.left(deliveryId);
    const queue = this.#queue(place.endpointId);
    queue.places -= place.places;
    if (queue.places === 0) this.#endpoints.delete(place.endpointId);
    this.#deps.queue.roomFreed();
  }

  /** One whose row was stored before a silence of this node is not sent: another node may have its row. */
  start(delivery: Leased): void {
    if (this.#places.get(delivery.id)?.silences !== this.#silences) {
      this.unreserve(delivery.id);
      this.#deps.queue.unsure(rowsOf(delivery));
      return;
    }
    const queue = this.#queue(delivery.target);
    queue.waiting.push(delivery);
    this.#pump(delivery.target, queue);
  }

  /** How often this node was silent for so long that others may have taken its rows. */
  get silences(): number {
    return this.#silences;
  }

  has(deliveryId: string): boolean {
    return this.#places.has(deliveryId) || this.#members.has(deliveryId);
  }

  /** The number of free places. */
  get free(): number {
    return Math.max(0, this.#deps.window - this.#projects.used);
  }

  /** The places that one endpoint may have. */
  get #share(): number {
    return Math.max(1, Math.floor(this.#deps.window / 2));
  }

  /** How many more places an endpoint may take. */
  room(endpointId: string): number {
    const left = this.#share - (this.#endpoints.get(endpointId)?.places ?? 0);
    return Math.max(0, Math.min(this.free, left));
  }

  /** How many more places a project may take. */
  projectRoom(projectId: string): number {
    return this.#projects.left(projectId);
  }

  isBusy(endpointId: string): boolean {
    return (this.#endpoints.get(endpointId)?.places ?? 0) > 0;
  }

  /** The current usage of the window. */
  usage(): { size: number; used: number; waiting: number; sending: number } {
    let waiting = 0;
    let sending = 0;
    for (const queue of this.#endpoints.values()) {
      waiting += queue.waiting.length;
      sending += queue.sending;
    }
    return { size: this.#deps.window, used: this.#projects.used, waiting, sending };
  }

  /** A breaker closed: restart with one request at a time. */
  restartCap(endpointId: string): void {
    this.#cap(endpointId).restart();
  }

  /** The lease is fresh again: continue with waiting deliveries. */
  resume(): void {
    for (const [endpointId, queue] of this.#endpoints) this.#pump(endpointId, queue);
  }

  /** Drops leased unsent deliveries, because other nodes may have claimed their rows while this node was silent. */
  forgetUnsent(): Leased[] {
    this.#silences += 1;
    return this.#takeUnsent();
  }

  #takeUnsent(): Leased[] {
    const forgotten = [...this.#endpoints.values()].flatMap((queue) => queue.waiting.splice(0));
    for (const delivery of forgotten) {
      this.unreserve(delivery.id);
      this.#notProbed(delivery);
    }
    return forgotten;
  }

  /** Accepts no more. Resolves when all requests in flight are recorded. They are aborted `graceMs` from now. */
  async close(graceMs: number): Promise<Leased[]> {
    this.#closed = true;
    const unsent = this.#takeUnsent();
    const cancelCutOff = this.#deps.clock.after(graceMs, () => this.#abort.abort());
    await this.#sending.settled();
    cancelCutOff();
    return unsent;
  }

  #queue(endpointId: string): EndpointQueue {
    let queue = this.#endpoints.get(endpointId);
    if (queue === undefined) {
      queue = { places: 0, sending: 0, waiting: [] };
      this.#endpoints.set(endpointId, queue);
    }
    return queue;
  }

  /** Messages take no connection each, so more of them may be under way. */
  #mostAtATime(delivery: Leased): number {
    const { endpointConcurrency, sharesConnection } = this.#deps;
    const to = { projectId: delivery.projectId, endpointId: delivery.target } as Destination;
    return sharesConnection(to) ? endpointConcurrency * SHARED_TIMES : endpointConcurrency;
  }

  #cap(endpointId: string): ConcurrencyCap {
    let cap = this.#caps.get(endpointId);
    if (cap === undefined) {
      cap = new ConcurrencyCap(this.#deps.endpointConcurrency);
      this.#caps.set(endpointId, cap);
    }
    return cap;
  }

  #pump(endpointId: string, queue: EndpointQueue): void {
    const [first] = queue.waiting;
    if (first === undefined) return;
    const limits = this.#cap(endpointId);
    limits.limit(this.#mostAtATime(first));
    const cap = limits.value;
    while (queue.waiting.length > 0 && queue.sending < cap && this.#deps.lease.isFresh()) {
      const delivery = queue.waiting.shift() as Leased;
      queue.sending += 1;
      countStart(this.#deps.metrics, delivery);
      this.#sending.add(() => this.#send(delivery, queue));
    }
  }

  async #send(delivery: Leased, queue: EndpointQueue): Promise<void> {
    let sent: Sent<AnyFinish> | undefined;
    const members = delivery.kind === 'batch' ? delivery.deliveryIds : [];
    for (const id of members) this.#members.set(id, delivery.id);
    try {
      sent = await this.#deps.sender.send(delivery, this.#abort.signal);
    } catch (error) {
      // A fault of ours. The row stays leased by this node, and the next reconciliation releases it.
      this.#deps.log.error({ err: error, delivery: delivery.id }, 'failed to attempt a delivery');
    }
    queue.sending -= 1;
    if (sent?.verdict === 'success') this.#cap(delivery.target).succeeded();
    else if (sent !== undefined && isTried(sent) && sent.isStrain)
      this.#cap(delivery.target).strained(this.#deps.clock.elapsed());
    this.#pump(delivery.target, queue);
    const isRecorded = sent !== undefined && (await this.#record(delivery, sent));
    this.unreserve(delivery.id);
    for (const id of members) if (this.#members.get(id) === delivery.id) this.#members.delete(id);
    if (isRecorded) return;
    this.#deps.queue.unsure(rowsOf(delivery));
    this.#notProbed(delivery);
  }

  #notProbed(delivery: Leased): void {
    if (delivery.kind === 'meta' || delivery.probeFence === null) return;
    const { id, projectId, probeFence } = delivery;
    const endpointId = delivery.kind === 'batch' ? delivery.target : delivery.endpointId;
    this.#deps.outcomes.notProbed({ id, projectId, endpointId, probeFence });
  }

  /** False: it was not recorded. The row stays leased, and the next reconciliation releases it. */
  async #record(delivery: Leased, sent: Sent<AnyFinish>): Promise<boolean> {
    let moved: boolean;
    try {
      moved = await this.#deps.finisher.finish(sent);
    } catch (error) {
      this.#deps.log.error({ err: error, delivery: delivery.id }, 'failed to record an outcome');
      return false;
    }
    countOutcome(this.#deps.metrics, sent, moved);
    logAttempt(this.#deps.log, sent, moved);
    if (!moved) {
      this.#deps.log.warn(
        { delivery: delivery.id },
        'late outcome: the delivery was claimed by another node or cancelled',
      );
      // It may have been resent and claimed by this same node, which had no second place for it.
      this.#deps.queue.unsure(rowsOf(delivery));
    } else this.#waits(sent);
    if (!isTried(sent)) this.#notProbed(delivery);
    else this.#attempted(sent);
    return true;
  }

  /** Where rows wait after a finish. */
  #waits(sent: AnyFinish): void {
    const { projectId } = sent.delivery;
    const { queue } = this.#deps;
    const { key, lane, delayMs } = sent;
    if (delayMs !== null) queue.waiting({ projectId, key, lane }, delayMs);
    if (isOfBatch(sent) && sent.parts.length > 0)
      queue.waiting({ projectId, key, lane: BATCH_LANE.formed }, 0);
    if (ofDeliveries(sent).some(({ metaEvent }) => metaEvent !== null))
      queue.waiting(metaEventsOf(projectId), 0);
  }

  /** A batch is one attempt. Its first delivery stands for it. */
  #attempted(sent: Tried<AnyFinish>): void {
    const { outcomes } = this.#deps;
    if (isOfDelivery(sent)) return outcomes.attempted(sent);
    const [first] = ofDeliveries(sent);
    const { verdict, exchange, isStrain } = sent;
    if (first !== undefined) outcomes.attempted({ ...first, verdict, exchange, isStrain });
  }
}

/** The rows of the queue that this node leases with it. */
function rowsOf(leased: Leased): QueueRowKey[] {
  if (leased.kind !== 'batch') return [leased];
  return [leased, ...leased.deliveryIds.map((id) => ({ projectId: leased.projectId, id }))];
}
