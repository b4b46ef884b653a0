import { type Move, MoveLost, renewMove } from '../../store/cells/source-moves.ts';
import type { Database } from '../../store/database/database.ts';

/** The steps of a move, in order. `onStep` gets each after it has happened. */
export type MoveStep =
  | 'begun'
  | 'copied'
  | 'draining'
  | 'drained'
  | 'closed'
  | 'written'
  | 'switched'
  | 'ended';

/** The two databases, and who wants to know. */
export interface MoveDeps {
  source: Database;
  target: Database;
  /** Names this process in the record of the move. */
  owner: string;
  /** How long deliveries under way may take to end. No request takes longer than 120 s. */
  drainMs?: number;
  /** After each step. A failure ends the mover where it is. */
  onStep?(step: MoveStep): void | Promise<void>;
  /** How many rows of a table are copied so far. */
  onCopied?(table: string, rows: number): void;
}

const RENEW_MS = 2_000;

/** A move that this process has. Its lease is renewed for as long as it runs. */
export class Mover {
  readonly deps: MoveDeps;
  readonly move: Move;
  #copied = 0;
  #lost: Error | null = null;
  #renewing: Promise<void> = Promise.resolve();
  readonly #timer: NodeJS.Timeout;

  constructor(deps: MoveDeps, move: Move) {
    this.deps = deps;
    this.move = move;
    this.#timer = setInterval(() => {
      this.#renewing = this.#renew();
    }, RENEW_MS);
  }

  get copied(): number {
    return this.#copied;
  }

  count(table: string, rows: number): void {
    this.#copied += rows;
    if (rows > 0) this.deps.onCopied?.(table, rows);
  }

  /** Between two parts of the work. */
  check(): void {
    if (this.#lost !== null) throw this.#lost;
  }

  async step(step: MoveStep): Promise<void> {
    this.check();
    await this.deps.onStep?.(step);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
  }

  /** A database that does not answer is met by the work itself. */
  async #renew(): Promise<void> {
    const { source, owner } = this.deps;
    try {
      await renewMove(source, this.move, { owner, copied: this.#copied });
    } catch (error) {
      if (error instanceof MoveLost) this.#lost = error;
    }
  }
}
