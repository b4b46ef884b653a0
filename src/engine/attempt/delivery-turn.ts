import type { Turn } from '../../dispatch/connection/turn.ts';
import type { NamedLimit, RateGroup } from '../limits/rate-group.ts';
import type { RateLeases } from '../limits/rate-leases.ts';
import type { Sent } from './sent.ts';

/**
 * The turn of one delivery under rate limits. Just before its request is written, everything that may have
 * changed while it waited is checked again: the node's lease, the rate lease, the endpoint's gates, and the
 * limits themselves.
 */
/** The rate leases of this node, as a turn needs them. */
export type TurnLeases = Pick<RateLeases, 'generation' | 'groupOf' | 'left'>;

export interface TurnDeps {
  rateLeases: TurnLeases;
  group: RateGroup;
  deliveryId: string;
  endpointId: string;
  /** Whether this node may still send. */
  maySend(): boolean;
  /** The current limits. */
  limits(): readonly NamedLimit[];
  /** The result of the delivery if a gate has closed since. */
  held(): Sent | null;
  /** The result of the delivery if this node may no longer send it. */
  back(): Sent;
}

/** A turn, and how it went. */
export interface JudgedTurn extends Turn {
  readonly isTaken: boolean;
  readonly refusal: Sent | null;
  countUnwritten(): void;
}

/** The turn of a delivery that expires, where no rate limit applies. */
export class ExpiryTurn implements JudgedTurn {
  readonly #expired: () => Sent | null;
  isTaken = false;
  refusal: Sent | null = null;

  constructor(expired: () => Sent | null) {
    this.#expired = expired;
  }

  take(): 'now' | 'never' {
    this.refusal = this.#expired();
    this.isTaken = this.refusal === null;
    return this.isTaken ? 'now' : 'never';
  }

  wait(): () => void {
    throw new Error('this turn is never later');
  }

  countUnwritten(): void {}
}

export class DeliveryTurn implements JudgedTurn {
  readonly #deps: TurnDeps;
  readonly #generation: number;
  readonly #ready: () => void;
  /** Its request has been counted and written. */
  isTaken = false;
  /** Why it was cancelled unwritten. */
  refusal: Sent | null = null;

  constructor(deps: TurnDeps) {
    this.#deps = deps;
    this.#generation = deps.rateLeases.generation;
    this.#ready = deps.group.preparing();
  }

  take(): 'now' | 'later' | 'never' {
    const { group, deliveryId, rateLeases, held, limits, back } = this.#deps;
    this.#ready();
    this.refusal = this.#isOurs() ? held() : back();
    if (this.refusal !== null) return 'never';
    const current = limits();
    if (current.length > 0 && !group.take(current)) return 'later';
    this.isTaken = true;
    rateLeases.left(deliveryId);
    return 'now';
  }

  wait(again: () => void): () => void {
    return this.#deps.group.wait({ limits: this.#deps.limits, again });
  }

  /**
   * It failed before its request could be written. That counts too, otherwise a dead endpoint would be tried
   * without limit.
   */
  countUnwritten(): void {
    if (!this.isTaken) this.#deps.group.count(this.#deps.limits());
  }

  #isOurs(): boolean {
    const { rateLeases, endpointId, group, maySend } = this.#deps;
    return (
      maySend() && rateLeases.generation === this.#generation && rateLeases.groupOf(endpointId) === group
    );
  }
}
