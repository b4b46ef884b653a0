import type { Turn } from '../../dispatch/connection/turn.ts';
import type { NamedLimit, RateGroup } from '../limits/rate-group.ts';
import type { RateLeases } from '../limits/rate-leases.ts';

/**
 * The turn of one delivery under rate limits. Everything that may have changed while it was made ready and waited is
 * looked at again when its request is about to be written: the node's lease, the lease of the limits, the endpoint's
 * gates, and the limits themselves.
 */
export interface TurnDeps<Refusal> {
  rateLeases: RateLeases;
  group: RateGroup;
  deliveryId: string;
  endpointId: string;
  /** Whether this node may still send. */
  maySend(): boolean;
  /** The limits as they are now. */
  limits(): readonly NamedLimit[];
  /** What becomes of the delivery if a gate has closed since. */
  held(): Refusal | null;
  /** What becomes of it if it is not this node's to send any more. */
  back(): Refusal;
}

export class DeliveryTurn<Refusal> implements Turn {
  readonly #deps: TurnDeps<Refusal>;
  readonly #generation: number;
  /** Its request has been counted and written. */
  isTaken = false;
  /** Why it was given up unwritten. */
  refusal: Refusal | null = null;

  constructor(deps: TurnDeps<Refusal>) {
    this.#deps = deps;
    this.#generation = deps.rateLeases.generation;
  }

  take(): 'now' | 'later' | 'never' {
    const { group, deliveryId, rateLeases, held, limits, back } = this.#deps;
    group.ready(deliveryId);
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

  /** It failed before its request could be written. That counts too, or a dead endpoint would be tried without limit. */
  countUnwritten(): void {
    if (!this.isTaken) this.#deps.group.count(this.#deps.limits());
  }

  #isOurs(): boolean {
    const { rateLeases, endpointId, group, maySend } = this.#deps;
    return maySend() && rateLeases.generation === this.#generation && rateLeases.held(endpointId) === group;
  }
}
