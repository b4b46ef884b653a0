import { EndpointAuth } from '../dispatch/client/endpoint-auth.ts';
import type { DeliverySink } from '../domain/delivery-sink.ts';
import { metaEventsOf } from '../domain/meta-event.ts';
import type { PullService } from '../domain/pull-service.ts';
import type { Loop } from '../platform/loop.ts';
import { sizedTo } from '../platform/memory/usable-memory.ts';
import { Room } from '../platform/shared-room.ts';
import { systemClock } from '../platform/time/clock.ts';
import type { ProjectRouting } from '../routing/project-routing.ts';
import { AttemptTemplates } from '../store/attempts/attempt-templates.ts';
import { measureBatch, takeBatch } from '../store/batching/take-batch.ts';
import { addUpCounts } from '../store/counts/add-up-counts.ts';
import { addAccepted } from '../store/counts/recent-counts.ts';
import { SILENT_SECONDS } from '../store/database/node-lease.ts';
import { ANYWHERE, parseDue } from '../store/limits/rate-leases.ts';
import { finishRows } from '../store/queue/finish-rows.ts';
import {
  asReaper,
  beat,
  forgetNodes,
  freeAllLeased,
  freeInPages,
  freeStrayLeases,
  leave,
  type SilentNode,
} from '../store/queue/nodes.ts';
import { markStarted, releaseRows } from '../store/queue/release-rows.ts';
import type { Look } from '../store/upkeep/look.ts';
import { DeliverySender } from './attempt/delivery-sender.ts';
import { type EndpointTrial, type TrialResult, tryEndpoint } from './attempt/endpoint-trial.ts';
import { Sender } from './attempt/sender.ts';
import { BatchFormer } from './batching/batch-former.ts';
import { BatchSender, type BatchSenderDeps } from './batching/batch-sender.ts';
import type { EngineDeps, PartDeps } from './deps/engine-deps.ts';
import { OutcomeWatch } from './health/outcome-watch.ts';
import { Intake } from './intake.ts';
import { RateLeases } from './limits/rate-leases.ts';
import { PullQueue } from './pull/pull-queue.ts';
import { Claimer } from './queue/claimer.ts';
import { Dispatcher } from './queue/dispatcher.ts';
import { DueNotifier } from './queue/due-notifier.ts';
import { Expander } from './queue/expander.ts';
import { Finisher } from './queue/finisher.ts';
import { decideGate } from './queue/gates.ts';
import { Heartbeat } from './queue/heartbeat.ts';
import { Lease } from './queue/lease.ts';
import { Reaper } from './queue/reaper.ts';
import { CountWriter } from './upkeep/count-writer.ts';
import { deviceWatch, endpointExpiry, expirer } from './upkeep/expiries.ts';
import { Janitor } from './upkeep/janitor.ts';

/** The room for batches in memory. */
const BATCH_BYTES = 128 * 1024 * 1024;
/** The part of the grace for recording aborted attempts and releasing the rest. */
const RECORD_MS = 2_000;

interface Part {
  start(): Promise<void> | void;
  stop(): Promise<void>;
}

/** The parts that move deliveries, connected and started in order. */
export class Engine {
  readonly nodeId: string;
  readonly #deps: PartDeps;
  readonly #dispatcher: Dispatcher;
  readonly #finisher: Finisher;
  readonly #claimer: Claimer;
  readonly #rateLeases: RateLeases;
  readonly #notifier: DueNotifier;
  readonly #heartbeat: Heartbeat;
  readonly #reaper: Reaper;
  readonly #deviceWatch: Loop;
  readonly #watch: OutcomeWatch;
  readonly #expirer: Loop;
  readonly #countWriter: CountWriter;
  readonly #pull: PullQueue;
  readonly #batches: BatchFormer;
  readonly #batchRoom = new Room(sizedTo(BATCH_BYTES));
  readonly #intake: Intake;
  readonly #delivers: boolean;
  /** In the order of their start. They stop side by side. */
  readonly #parts: readonly Part[];
  /** Nodes that the last heartbeat found silent. */
  #silent: readonly SilentNode[] = [];

  constructor(given: EngineDeps) {
    const { config, db, cache, databaseClock, ids } = given;
    this.nodeId = ids.next();
    const deps = { ...given, nodeId: this.nodeId, now: databaseClock.now, clock: systemClock };
    this.#deps = deps;
    this.#delivers = config.roles.includes('deliver');
    const lease = new Lease(systemClock);
    const templates = new AttemptTemplates();
    this.#finisher = this.#createFinisher(templates);
    this.#rateLeases = new RateLeases({
      ...deps,
      waiting: (place, inMs) => this.#claimer.leased(place, inMs),
    });
    this.#notifier = new DueNotifier(deps);
    this.#watch = new OutcomeWatch({ ...deps, restartCap: (id) => this.#dispatcher.restartCap(id) });
    this.#dispatcher = this.#createDispatcher(lease);
    this.#claimer = new Claimer({
      ...deps,
      dispatcher: this.#dispatcher,
      lease,
      rateLeases: this.#rateLeases,
      collects: (place) => this.#batches.found(place),
      batchesClaimed: (key) => this.#batches.claimed(key),
      decideGate: (place) => decideGate(cache, place, deps.now()),
    });
    const expander = new Expander({
      ...deps,
      maxRetrySeconds: config.maxRetrySeconds,
      sweep: () => this.#claimer.sweep(),
    });
    this.#countWriter = new CountWriter({
      ...deps,
      accepted: deps.counts,
      store: (counts) => addAccepted(db, counts),
      addUp: (signal) => addUpCounts(db, signal),
    });
    this.#pull = this.#createPull(templates);
    this.#batches = this.#createBatches();
    this.#intake = new Intake({
      delivers: this.#delivers,
      dispatcher: this.#dispatcher,
      claimer: this.#claimer,
      notifier: this.#notifier,
      expander,
      pull: this.#pull,
      batches: this.#batches,
    });
    this.#heartbeat = new Heartbeat({
      ...deps,
      beat: (inFlightFrom) => this.#beat(inFlightFrom),
      lease,
      dispatcher: this.#dispatcher,
      claimer: this.#claimer,
      rateLeases: this.#rateLeases,
    });
    this.#reaper = this.#createReaper();
    this.#deviceWatch = deviceWatch(deps);
    const metaEventsStored = (projectId: string) => this.metaEventsStored(projectId);
    const { released } = this.#intake;
    this.#expirer = expirer({ ...deps, metaEventsStored, released });
    const janitor = new Janitor({ ...deps, metaEventsStored, released, ordering: this.#watch.ordering });
    const delivering = [this.#rateLeases, this.#claimer, this.#batches, expander, this.#expirer];
    const upkeep = [janitor, this.#deviceWatch, endpointExpiry(deps)];
    this.#parts = [
      this.#reaper,
      ...(this.#delivers ? delivering : []),
      ...(config.roles.includes('janitor') ? upkeep : []),
    ];
  }

  async #beat(inFlightFrom: string): Promise<number> {
    const { db, config, knows, sealer, cache } = this.#deps;
    const roles = config.roles.join(',');
    const said = { inFlightFrom, configSeenAtMs: cache.seenAtMs };
    const node = { id: this.nodeId, roles, knows, sealKeys: sealer.keyIds, ...said };
    const { nowMs, silent } = await beat(db, node);
    this.#silent = silent;
    this.#reaper.wake();
    return nowMs;
  }

  #createReaper(): Reaper {
    const { db } = this.#deps;
    return new Reaper({
      ...this.#deps,
      table: {
        silent: () => this.#silent,
        asReaper: (work) => asReaper(db, work),
        freeInPages: (page) => freeInPages(db, SILENT_SECONDS, page),
        forget: (nodeIds) => forgetNodes(db, nodeIds),
        freeStrayLeases: () => freeStrayLeases(db),
      },
      connectedMs: () => this.#heartbeat.connectedMs(),
      claimer: this.#claimer,
    });
  }

  /** A delivery that waited for a rate limit and was not sent leaves its turn to another. */
  #left(deliveryId: string): void {
    this.#batchRoom.leave(deliveryId);
    const key = this.#rateLeases.left(deliveryId);
    if (key !== undefined) this.#claimer.passedOver(key);
  }

  #createDispatcher(lease: Lease): Dispatcher {
    const { config, cache, metaEvents } = this.#deps;
    const deliveries = this.#createSender(lease);
    const stored: BatchSenderDeps['stored'] = {
      measure: (batch) => measureBatch(this.#deps.db, batch),
      take: (batch, hasBodies) => takeBatch(this.#deps.db, this.nodeId, batch, hasBodies),
    };
    return new Dispatcher({
      ...this.#deps,
      sender: new Sender({
        ...this.#deps,
        deliveries,
        batches: new BatchSender({ ...this.#deps, deliveries, stored, room: this.#batchRoom }),
        leaseEnded: (delivery) => this.#pull.leaseEnded(delivery),
        recorder: metaEvents,
      }),
      finisher: this.#finisher,
      queue: {
        waiting: (place, dueInMs) => this.#intake.waiting(place, dueInMs),
        roomFreed: () => this.#claimer.roomFreed(),
        unsure: (rows) => this.#intake.unsure(rows),
      },
      outcomes: this.#watch,
      left: (deliveryId) => this.#left(deliveryId),
      lease,
      // A node that does not deliver has no window. Its accepted deliveries wait for another node.
      window: this.#delivers ? config.window : 0,
      endpointConcurrency: config.endpointConcurrency,
      sharesConnection: ({ projectId, endpointId }) =>
        cache.peek(projectId)?.endpoints.get(endpointId)?.row.delivery === 'broker',
    });
  }

  #createSender(lease: Lease): DeliverySender {
    const { http, db } = this.#deps;
    return new DeliverySender({
      ...this.#deps,
      auth: new EndpointAuth(http),
      markStarted: (delivery) => markStarted(db, this.nodeId, delivery),
      maySend: () => lease.isFresh(),
      rateLeases: this.#rateLeases,
    });
  }

  #createPull(templates: AttemptTemplates): PullQueue {
    return new PullQueue({
      ...this.#deps,
      templates,
      leased: (place, inMs) => this.#intake.waiting(place, inMs),
      attempted: (sent) => this.#watch.reported(sent),
      released: (places) => this.#intake.released(places),
      recorded: (finishes, moved) => this.#watch.recorded(finishes, moved),
      waiting: (finish) => {
        const { key, lane, delayMs } = finish;
        const { projectId } = finish.delivery;
        if (delayMs !== null) this.#intake.waiting({ projectId, key, lane }, delayMs);
        if (finish.metaEvent !== null) this.metaEventsStored(projectId);
      },
    });
  }

  #createFinisher(templates: AttemptTemplates): Finisher {
    return new Finisher({
      ...this.#deps,
      store: async (batch) => {
        const { moved, released } = await finishRows(
          this.#deps.db,
          { nodeId: this.nodeId, templates },
          batch,
        );
        this.#intake.released(released);
        this.#watch.recorded(batch, moved);
        return moved;
      },
    });
  }

  #createBatches(): BatchFormer {
    return new BatchFormer({
      ...this.#deps,
      formed: (place) => this.#claimer.waiting(place, 0),
    });
  }

  /** Consumers of pull endpoints. */
  get pull(): PullService {
    return this.#pull;
  }

  /** A test request, apart from the queue. */
  tryEndpoint(trial: EndpointTrial): Promise<TrialResult> {
    return tryEndpoint(this.#deps, trial);
  }

  get sink(): DeliverySink {
    return this.#intake;
  }

  usage(): ReturnType<Dispatcher['usage']> {
    return this.#dispatcher.usage();
  }

  async start(): Promise<void> {
    if (this.#deps.isAlone) await freeAllLeased(this.#deps.db);
    await this.#heartbeat.start();
    for (const part of this.#parts) await part.start();
    this.#watch.start();
    this.#countWriter.start();
  }

  /**
   * Waits for deliveries in flight and releases the rest. The lease is kept until then. Requests still
   * running shortly before `stopBy` (by the monotonic clock) are aborted. Outcomes that cannot be recorded by
   * then are left to other nodes.
   */
  async stop(stopBy: number): Promise<void> {
    const { db, log } = this.#deps;
    const leftMs = () => Math.max(0, stopBy - performance.now());
    const giveUp = setTimeout(() => this.#finisher.giveUp(), leftMs());
    const parts = Promise.all([this.#pull, ...this.#parts, this.#notifier].map((part) => part.stop()));
    const unsent = await this.#dispatcher.close(Math.max(0, leftMs() - Math.min(RECORD_MS, leftMs() / 5)));
    await parts;
    clearTimeout(giveUp);
    await this.#watch.stop();
    await this.#countWriter.stop();
    await this.#heartbeat.stop();
    try {
      await releaseRows(db, this.nodeId, unsent);
      // A node that may lease rows it cannot name stays known, so that others free them when its lease has expired.
      if (await this.#claimer.releaseRest()) await leave(db, this.nodeId);
    } catch (error) {
      log.warn({ err: error }, 'failed to release deliveries; other nodes claim them in 10 s');
    }
  }

  /** A config change may have opened gates of its endpoints and subscriptions, and created meta events. */
  configChanged({ project, endpoints }: ProjectRouting, changedIds: readonly string[]): void {
    if (!this.#delivers) return;
    this.#rateLeases.recount(endpoints);
    if (project.config.meta_event.is_enabled) this.metaEventsStored(project.id);
    this.#claimer.reopen(changedIds);
  }

  /** Another node reports where rows wait. */
  onDue(payload: string): void {
    if (!this.#delivers) return;
    if (payload === ANYWHERE) void this.#claimer.sweep();
    else for (const place of parseDue(payload)) this.#claimer.onDue(place);
  }

  /** Work that any node may do. */
  looked(found: Pick<Look, 'hasExpansion' | 'hasExpiry' | 'hasUnseenDevice'>): void {
    if (found.hasExpansion) this.#intake.expansionStored();
    if (found.hasExpiry && this.#delivers) this.#expirer.wake();
    if (found.hasUnseenDevice) this.#deviceWatch.wake();
  }

  /** Another node needs to know which ids this one holds. */
  beatNow(): void {
    this.#heartbeat.wake();
  }

  metaEventsStored(projectId: string): void {
    this.#intake.waiting(metaEventsOf(projectId));
  }
}
