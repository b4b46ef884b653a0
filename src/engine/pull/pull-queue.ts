import { isFetched } from '../../domain/config/endpoint.ts';
import { LANE, type LeasedDelivery, type Place, type QueueKey } from '../../domain/delivery.ts';
import { AppError } from '../../domain/errors.ts';
import type { EndpointId, ProjectId } from '../../domain/ids.ts';
import type {
  PulledDelivery,
  PullRequest,
  PullResult,
  PullService,
  ResultState,
} from '../../domain/pull-service.ts';
import { SharedRoom } from '../../platform/shared-room.ts';
import { Turns } from '../../platform/turns.ts';
import { gateOf } from '../../routing/gate.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import {
  dueRows,
  handOutDeliveries,
  putBackDeliveries,
  takeForConsumer,
} from '../../store/queue/pull-deliveries.ts';
import { notOurs } from '../attempt/delivery-sender.ts';
import type { Sent } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { leaseToken, readLease } from './lease-token.ts';
import { type Prepared, preparePulled } from './prepare-pulled.ts';
import { PullLimits } from './pull-limits.ts';
import { PullResults, type PullResultsDeps } from './pull-results.ts';
import { PullWaiters } from './pull-waiters.ts';

/**
 * Hands out deliveries of pull endpoints. Steps of a call: take due rows, ask the rate limits, prepare the requests, begin
 * the leases, answer. The states of the rows are in src/store/queue/pull-deliveries.ts. A node that dies between the
 * steps loses nothing: a row that was not handed out goes back untried after 30 s.
 *
 * A call that finds nothing waits (pull-waiters.ts), for as long as its caller is there. It ends on time: a call whose
 * time is over leaves the line of those that want to take.
 */
export interface PullQueueDeps extends PullResultsDeps, EnginePart<'clock' | 'log'> {
  sandbox: Pick<Sandbox, 'run'>;
  /** Leases under a key end after so long. */
  leased(place: Place, inMs: number): void;
}

const LANES = [LANE.first, LANE.retry, LANE.replay];
/** Which lane is looked through first, in turns: as often as rounds of claims give it room. */
const LANE_TURNS = [0, 0, 1, 0, 0, 1, 0, 0, 1, 2];
const MAX_BYTES = 8 * 1024 * 1024;
/** Takes at a time on this node, of which a project has at most half. With 8 MB each that bounds the memory. */
const TAKES_AT_A_TIME = 8;
/** An endpoint that is paused, or whose limit is used up, is looked at again after this. */
const LOOK_AGAIN_MS = 1_000;
/** Calls that wait at a time on this node, of which a project has at most half. */
const MAX_CALLS = 10_000;

type Ready = Extract<Prepared, { kind: 'ready' }>;

export class PullQueue implements PullService {
  readonly #deps: PullQueueDeps;
  readonly #results: PullResults;
  readonly #limits: PullLimits;
  readonly #waiters: PullWaiters;
  readonly #turns = new Turns(TAKES_AT_A_TIME);
  readonly #calls = new SharedRoom(MAX_CALLS);
  readonly #limitedKeys = new WeakMap<object, Map<string, QueueKey[]>>();
  #takes = 0;
  #isStopped = false;

  constructor(deps: PullQueueDeps) {
    this.#deps = deps;
    this.#results = new PullResults(deps);
    this.#limits = new PullLimits(deps);
    this.#waiters = new PullWaiters({ ...deps, due: (places) => dueRows(deps.db, places), lanes: LANES });
  }

  /** This node stored a row that waits. */
  stored(key: string): void {
    this.#waiters.stored(key);
  }

  report(
    at: { projectId: ProjectId; endpointId: EndpointId },
    results: readonly PullResult[],
  ): Promise<ResultState[]> {
    return this.#results.report(at, results);
  }

  /** The result of a delivery whose lease ended. */
  leaseEnded(delivery: LeasedDelivery): Promise<Sent> {
    return this.#results.leaseEnded(delivery);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#waiters.stop();
  }

  async pull(request: PullRequest, signal: AbortSignal): Promise<PulledDelivery[]> {
    if (!this.#calls.enter(request.projectId)) throw new AppError('overloaded', { retry: 1 });
    try {
      return await this.#pull(request, signal);
    } finally {
      this.#calls.leave(request.projectId);
    }
  }

  /** A consumer left: its deliveries wait again, without an attempt. */
  async release(projectId: ProjectId, deliveries: readonly PulledDelivery[]): Promise<void> {
    const rows = deliveries.flatMap(({ id, lease, lane }) => {
      const read = readLease(this.#deps.sealer, id, lease);
      return read === null ? [] : { id, projectId, fence: read.fence, lane };
    });
    if (rows.length > 0) await putBackDeliveries(this.#deps.db, rows);
  }

  /** A call that does not wait looks once, whenever its turn comes. */
  async #pull(request: PullRequest, signal: AbortSignal): Promise<PulledDelivery[]> {
    if (request.waitMs === 0) return this.#look(request, { gone: signal, over: signal });
    const over = new AbortController();
    const end = () => over.abort();
    const cancel = this.#deps.clock.after(request.waitMs, end);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    try {
      return await this.#look(request, { gone: signal, over: over.signal });
    } finally {
      cancel();
      signal.removeEventListener('abort', end);
    }
  }

  async #look(
    request: PullRequest,
    { gone, over }: { gone: AbortSignal; over: AbortSignal },
  ): Promise<PulledDelivery[]> {
    const { projectId, endpointId, waitMs } = request;
    while (!over.aborted) {
      const routing = await this.#deps.cache.get(projectId);
      const endpoint = routing.endpoints.get(endpointId)?.row;
      if (endpoint === undefined || !isFetched(endpoint)) return [];
      const gate = gateOf(routing, { key: endpoint.id }, this.#deps.now());
      const isOpen = gate.kind === 'pull' && this.#limits.waitMs(endpoint.id) === 0;
      if (isOpen) {
        const take = () => this.#take(request, routing, gone);
        const taken = (await this.#turns.runBefore(over, projectId, take)) ?? [];
        if (taken.length > 0) return taken;
      }
      if (waitMs === 0 || this.#isStopped) return [];
      const keys = isOpen && this.#limits.waitMs(endpoint.id) === 0 ? this.#keys(routing, endpoint.id) : [];
      await this.#waiters.wait(keys, keys.length > 0 ? waitMs : LOOK_AGAIN_MS, over);
    }
    return [];
  }

  async #take(request: PullRequest, routing: ProjectRouting, signal: AbortSignal): Promise<PulledDelivery[]> {
    if (signal.aborted || this.#isStopped) return [];
    const { db } = this.#deps;
    const record = (sent: readonly Sent[]) => this.#results.record(sent);
    const taken = await takeForConsumer(db, {
      wants: this.#wants(routing, request.endpointId),
      max: request.max,
      maxBytes: MAX_BYTES,
    });
    if (taken.length === 0) return [];
    // A subscription with a limit may have moved here, with deliveries to its former endpoint under its key.
    const own = taken.filter(({ endpointId }) => endpointId === request.endpointId);
    const others = taken.filter(({ endpointId }) => endpointId !== request.endpointId);
    if (others.length > 0) await record(others.map((delivery) => notOurs(delivery, routing)));
    const allowed = await this.#limits.allowed(request.endpointId, own, routing);
    const over = own.filter((delivery) => !allowed.has(delivery));
    if (over.length > 0) await putBackDeliveries(db, over);
    const prepared = await this.#prepare([...allowed], routing);
    const failed = prepared.flatMap((one) => (one.kind === 'not ready' ? one.sent : []));
    if (failed.length > 0) await record(failed);
    return this.#handOut(prepared.filter(isReady), request, signal);
  }

  #prepare(deliveries: readonly LeasedDelivery[], routing: ProjectRouting): Promise<Prepared[]> {
    return Promise.all(deliveries.map((delivery) => preparePulled(this.#deps, delivery, routing)));
  }

  async #handOut(
    ready: readonly Ready[],
    { projectId, leaseSeconds }: PullRequest,
    signal: AbortSignal,
  ): Promise<PulledDelivery[]> {
    if (ready.length === 0) return [];
    const { db, sealer, ids, leased } = this.#deps;
    // The caller has gone: its deliveries go to the next one, without an attempt.
    if (signal.aborted) {
      await putBackDeliveries(
        db,
        ready.map(({ delivery }) => delivery),
      );
      return [];
    }
    const rows = ready.map(({ delivery, recorded, made }) => ({
      ...delivery,
      headers: recorded,
      ...made,
    }));
    const until = await handOutDeliveries(db, { leaseSeconds, rows });
    for (const key of new Set(ready.map(({ delivery }) => delivery.key)))
      leased({ projectId, key, lane: LANE.leased }, leaseSeconds * 1000);
    return ready.flatMap(({ delivery, headers, secretHeaders, body }) => {
      const leasedUntilMs = until.get(delivery.id);
      if (leasedUntilMs === undefined) return [];
      const lease = leaseToken(sealer, delivery.id, { fence: delivery.fence, attemptId: ids.next() });
      const { id, eventId, eventType, numTrials, lane } = delivery;
      const urlQueryParams = delivery.urlQueryParams ?? '';
      const attempt = numTrials + 1;
      const content = { urlQueryParams, headers, secretHeaders, body };
      return { id, eventId, eventType, lease, lane, attempt, leasedUntilMs, ...content };
    });
  }

  #wants(routing: ProjectRouting, endpointId: EndpointId): { key: QueueKey; lane: number }[] {
    const first = LANE_TURNS[this.#takes++ % LANE_TURNS.length] as number;
    const lanes = [first, ...LANES.filter((lane) => lane !== first)];
    return lanes.flatMap((lane) => this.#keys(routing, endpointId).map((key) => ({ key, lane })));
  }

  /** The endpoint, and those of its subscriptions that have a rate limit. */
  #keys({ subscriptions }: ProjectRouting, endpointId: EndpointId): QueueKey[] {
    let limited = this.#limitedKeys.get(subscriptions);
    if (limited === undefined) {
      limited = new Map();
      for (const { row, limit } of subscriptions.values())
        if (limit !== null) limited.set(row.endpoint_id, [...(limited.get(row.endpoint_id) ?? []), row.id]);
      this.#limitedKeys.set(subscriptions, limited);
    }
    return [endpointId, ...(limited.get(endpointId) ?? [])];
  }
}

const isReady = (prepared: Prepared): prepared is Ready => prepared.kind === 'ready';
