import { releaseProbes, takeProbes } from '../../store/limits/breakers.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import type { Chosen } from './claim-choice.ts';

/**
 * Claims of endpoints whose breaker is half-open: take the probe, claim one delivery, release the probe if none was
 * started. These are up to three round trips, so they run outside of the claimer's rounds. In a round they would make
 * every other key wait, some 2 s with a database 500 ms away. One at a time, with all choices of one round.
 */
export interface ProbeClaimsDeps extends EnginePart<'db' | 'log'> {
  /** Claims the choices and starts what was claimed. Returns how many of each were started. */
  start(chosen: Chosen[]): Promise<number[]>;
  /** Another node has the probe of this choice. */
  taken(choice: Chosen): void;
  /** Handles a failed claim. Does not throw. */
  failed(error: unknown): Promise<void>;
  ended(): void;
}

export class ProbeClaims {
  readonly #deps: ProbeClaimsDeps;
  #running: Promise<void> | undefined;
  #size = 0;

  constructor(deps: ProbeClaimsDeps) {
    this.#deps = deps;
  }

  /** How many deliveries may still arrive. Zero: the next can begin. */
  get underWay(): number {
    return this.#size;
  }

  async settled(): Promise<void> {
    await this.#running;
  }

  /** Only while none is under way. */
  begin(chosen: Chosen[]): void {
    this.#size = chosen.length;
    this.#running = this.#run(chosen)
      .catch((error: unknown) => this.#deps.failed(error))
      .finally(() => {
        this.#size = 0;
        this.#running = undefined;
        this.#deps.ended();
      });
  }

  async #run(chosen: Chosen[]): Promise<void> {
    const admitted = await this.#admit(chosen);
    if (admitted.length === 0) return;
    let started: number[] = [];
    try {
      started = await this.#deps.start(admitted);
    } catch (error) {
      await this.#releaseUnused(admitted, []).catch((alsoFailed: unknown) => {
        this.#deps.log.debug({ err: alsoFailed }, 'failed to release probes; they expire by themselves');
      });
      throw error;
    }
    await this.#releaseUnused(admitted, started);
  }

  async #admit(chosen: Chosen[]): Promise<Chosen[]> {
    const wanted = chosen.map(({ gate: { endpointId, probeSeconds, breakerChangedMs } }) => ({
      endpointId,
      seconds: probeSeconds,
      changedMs: breakerChangedMs,
    }));
    const probes = await takeProbes(this.#deps.db, wanted);
    return chosen.filter((choice) => {
      const probe = probes.get(choice.gate.endpointId);
      if (probe === undefined) this.#deps.taken(choice);
      else choice.probe = probe;
      return probe !== undefined;
    });
  }

  /** Releases probes for which nothing was started. */
  async #releaseUnused(admitted: Chosen[], started: number[]): Promise<void> {
    const unsent = admitted.flatMap(({ probe }, n) =>
      probe !== undefined && (started[n] ?? 0) === 0 ? [probe] : [],
    );
    await releaseProbes(this.#deps.db, unsent);
  }
}
