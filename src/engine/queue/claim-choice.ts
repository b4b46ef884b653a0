import { BATCH_LANE, LANE } from '../../domain/delivery.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Probe } from '../../store/limits/breakers.ts';
import type { Want } from '../../store/queue/claim.ts';
import type { RateGroup } from '../limits/rate-group.ts';
import type { RateLeases } from '../limits/rate-leases.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { DueKey, DueKeys } from './due-keys.ts';
import type { GateDecision } from './gates.ts';

/**
 * Chooses the keys that a round claims: due keys whose gate is open and whose endpoint and project have room,
 * each lane with its share, a key of each project in turn.
 */
type OpenGate = Extract<GateDecision, { open: true }>;

/** A key chosen in this round, with the number that may start. */
export interface Chosen {
  due: DueKey;
  gate: OpenGate;
  want: Want;
  /** Under rate limits: the counting group, and when more than this may be claimed. */
  limited?: { group: RateGroup; moreAt: number };
  /** Half-open breaker: the probe. */
  probe?: Probe;
}

/** The places and sends that a round has assigned so far. */
interface Round {
  budget: number;
  /** Places in the window, by endpoint and by project. */
  taken: Map<string, number>;
  takenOf: Map<string, number>;
  /** Sends, by rate limit. */
  sends: Map<string, number>;
}

interface ClaimChoiceDeps {
  keys: DueKeys;
  dispatcher: Dispatcher;
  rateLeases: RateLeases;
  decideGate(place: { projectId: string; key: string; lane: number }): GateDecision;
  /** Rows of this place wait for their batch. */
  collects(place: DueKey): void;
  clock: Clock;
  /** Probes of an earlier round that are still being claimed. The next begin after them. */
  probesUnderWay(): number;
  probeAgainMs: number;
  /** When a key is checked again whose limits another node counts. */
  sweepMs: number;
}

const ROWS_PER_KEY = 50;
const ROWS_PER_ROUND = 400;
/** If the round has rows left. The backlog of one endpoint is sent 13 % faster than in rounds of 50 rows. */
const MOST_ROWS_PER_KEY = 150;
/**
 * Shares of a round: batches, first tries, retries, replays, leases that ended. A lane that is ready alone gets the whole
 * round. Shares are rounded up and sum to more than 1, so each round begins with another lane: the last one may get nothing
 * of a small round.
 */
export const LANE_SHARES: ReadonlyMap<number, number> = new Map([
  [BATCH_LANE.formed, 0.05],
  [LANE.first, 0.5],
  [LANE.retry, 0.3],
  [LANE.replay, 0.1],
  [LANE.leased, 0.1],
]);
const LANES = [...LANE_SHARES];
/** With less room than this a busy endpoint is not worth a round trip. It will soon have more. */
const WORTH_CLAIMING = 32;
/** A limited key is claimed at most so many times per lookahead, because many small claims cost more than few. */
const CLAIMS_PER_LOOKAHEAD = 8;
/** A round checks no more due keys than this. 10,000 at a time would block the event loop for some 20 ms. */
const LOOKS_PER_LANE = 500;

export class ClaimChoice {
  readonly #deps: ClaimChoiceDeps;
  #rounds = 0;

  constructor(deps: ClaimChoiceDeps) {
    this.#deps = deps;
  }

  /** At most `most` rows. `isCut`: more keys are due and were not checked. */
  choose(most = ROWS_PER_ROUND): { chosen: Chosen[]; isCut: boolean } {
    const { keys, dispatcher, probesUnderWay } = this.#deps;
    keys.settle(this.#deps.clock.elapsed());
    let isCut = false;
    let mayWait = false;
    const chosen: Chosen[] = [];
    const round = {
      taken: new Map<string, number>(),
      takenOf: new Map<string, number>(),
      sends: new Map<string, number>(),
    };
    const hasRoom = (projectId: string) => this.#projectRoom(projectId, round) > 0;
    const rows = Math.min(ROWS_PER_ROUND, most, dispatcher.free - probesUnderWay());
    let left = rows;
    const begin = this.#rounds++ % LANES.length;
    for (const [lane, share] of [...LANES.slice(begin), ...LANES.slice(0, begin)]) {
      const others = LANES.some(([other]) => other !== lane && keys.isReady(other));
      let budget = Math.min(left, others ? Math.ceil(rows * share) : left);
      if (budget <= 0) continue;
      let looks = LOOKS_PER_LANE;
      for (const key of keys.ready(lane, hasRoom)) {
        const choice = this.#chooseKey(key, { budget, ...round });
        if (choice !== null) {
          chosen.push(choice);
          budget -= choice.want.count;
          left -= choice.want.count;
        }
        looks -= 1;
        isCut ||= looks === 0;
        mayWait ||= budget <= 0 || looks === 0;
        if (budget <= 0 || looks === 0) break;
      }
    }
    // Due keys that the round had no look at come first, in the next one.
    if (!mayWait) this.#giveRest(chosen, left, round);
    return { chosen, isCut };
  }

  /** The keys that may have more rows get an equal part of those that are left. */
  #giveRest(chosen: readonly Chosen[], left: number, round: Omit<Round, 'budget'>): void {
    const eager = chosen.filter(
      ({ want, gate }) =>
        want.count === ROWS_PER_KEY && want.lane !== BATCH_LANE.formed && gate.limits.length === 0,
    );
    const part = Math.min(MOST_ROWS_PER_KEY - ROWS_PER_KEY, Math.floor(left / eager.length));
    for (const { due, gate, want } of eager) {
      const more = Math.min(part, this.#room(due, gate, round));
      if (more <= 0) continue;
      want.count += more;
      this.#take(due, gate, { count: more, round });
    }
  }

  /** The places that an endpoint may still have in this round. */
  #room({ projectId }: DueKey, { endpointId }: OpenGate, round: Omit<Round, 'budget'>): number {
    const ofEndpoint = this.#deps.dispatcher.room(endpointId) - (round.taken.get(endpointId) ?? 0);
    return Math.min(ofEndpoint, this.#projectRoom(projectId, round));
  }

  #take(
    { projectId }: DueKey,
    { endpointId }: OpenGate,
    { count, round }: { count: number; round: Omit<Round, 'budget'> },
  ): void {
    round.taken.set(endpointId, (round.taken.get(endpointId) ?? 0) + count);
    round.takenOf.set(projectId, (round.takenOf.get(projectId) ?? 0) + count);
  }

  #projectRoom(projectId: string, { takenOf }: Pick<Round, 'takenOf'>): number {
    return this.#deps.dispatcher.projectRoom(projectId) - (takenOf.get(projectId) ?? 0);
  }

  #chooseKey(due: DueKey, round: Round): Chosen | null {
    const gate = this.#deps.decideGate(due);
    if (!gate.open) {
      if (gate.isBatch) this.#deps.collects(due);
      this.#deps.keys.shut(due, gate.endpointId, gate.againInMs);
      return null;
    }
    const { dispatcher, keys, clock, probesUnderWay, probeAgainMs } = this.#deps;
    if (gate.isProbe && probesUnderWay() > 0) {
      keys.moveTo(due, clock.elapsed() + probeAgainMs);
      return null;
    }
    const room = this.#room(due, gate, round);
    if (gate.isProbe && (round.taken.has(gate.endpointId) || dispatcher.isBusy(gate.endpointId))) return null;
    if (room < WORTH_CLAIMING && dispatcher.isBusy(gate.endpointId) && gate.limits.length === 0) return null;
    let count = gate.isProbe ? Math.min(1, room) : Math.min(room, ROWS_PER_KEY, round.budget);
    if (count < 1) return null;
    const limited = gate.limits.length === 0 ? undefined : this.#chooseLimited(due, gate, { count, round });
    if (limited === null) return null;
    count = limited?.count ?? count;
    this.#take(due, gate, { count, round });
    due.notifiedAt = Number.POSITIVE_INFINITY;
    const want = { key: due.key, lane: due.lane, count };
    // A limit is on rows: large ones may take all the room that there is.
    return { due, gate, want, ...(limited && { limited, want: { ...want, places: room } }) };
  }

  /** How many of a key under rate limits. Null: none for now, or another node counts them. */
  #chooseLimited(
    due: DueKey,
    gate: OpenGate,
    { count: wanted, round }: { count: number; round: Round },
  ): { count: number; group: RateGroup; moreAt: number } | null {
    const { rateLeases, sweepMs } = this.#deps;
    const { endpointId, limits } = gate;
    const group = rateLeases.groupOf(endpointId);
    const now = this.#deps.clock.elapsed();
    if (group === undefined) {
      const { projectId, key, lane } = due;
      rateLeases.ask(endpointId, { projectId, key, lane }, due.isOwn);
      due.isOwn = false;
      this.#deps.keys.moveTo(due, now + sweepMs);
      return null;
    }
    // A probe lasts a few seconds only, so it is claimed when it can be sent.
    const lookahead = gate.isProbe ? { lookaheadMs: 0 } : {};
    const { count, moreAt } = group.allowance(limits, {
      wanted,
      taken: round.sends,
      endpointId,
      ...lookahead,
    });
    if (count === 0) {
      this.#deps.keys.moveTo(due, Math.max(moreAt, now + 1));
      return null;
    }
    for (const { key } of limits) round.sends.set(key, (round.sends.get(key) ?? 0) + count);
    // A choice cut by the round, and not by the limit, is followed by the next at once.
    if (count === wanted) return { count, group, moreAt };
    return { count, group, moreAt: Math.max(moreAt, now + group.lookaheadMs / CLAIMS_PER_LOOKAHEAD) };
  }
}
