import type { Socket } from 'node:net';
import pg from 'pg';
import { PatientTimer, stoodStillMs } from '../../platform/time/patient-timer.ts';

/**
 * A connection to the database that is closed if an answer takes longer than `answerMs`. The driver's own
 * limit (`query_timeout`) would count the time this process stalled, and blame the database for it.
 */
export interface PatientClientConfig extends pg.ClientConfig {
  answerMs?: number;
}

/** A statement may have its own limit. */
export interface PatientQuery extends pg.QueryConfig {
  answerMs?: number;
}

type Ask = (...args: unknown[]) => unknown;

export class PatientClient extends pg.Client {
  constructor(config: PatientClientConfig = {}) {
    super(config);
    const ask = this.query.bind(this) as Ask;
    const limitMs = config.answerMs;
    this.query = ((...args: unknown[]) => {
      const answerMs = (args[0] as Partial<PatientQuery>).answerMs ?? limitMs;
      return answerMs === undefined ? ask(...args) : this.#limited(ask, args, answerMs);
    }) as typeof this.query;
  }

  /** The driver takes a callback or returns a promise. */
  #limited(ask: Ask, args: unknown[], answerMs: number): unknown {
    const timer = new PatientTimer(answerMs, () => this.cut('Query read timeout'));
    const clear = (): void => timer.clear();
    const callback = args.at(-1);
    if (typeof callback === 'function') {
      const answered = (...answer: unknown[]): void => {
        clear();
        callback(...answer);
      };
      return ask(...args.slice(0, -1), answered);
    }
    const answer = ask(...args) as Promise<unknown>;
    answer.then(clear, clear);
    return answer;
  }

  /** Every statement of the connection fails, because those behind an unanswered one would wait too. */
  cut(reason: string): void {
    const { connection } = this as unknown as { connection: { stream: Socket } };
    connection.stream.destroy(new Error(reason));
  }
}

const WAIT_TEXT = /timeout exceeded when trying to connect|timeout expired|due to connection timeout/;

/**
 * Tries again if no connection was available in time and this process stalled meanwhile, because the pool's
 * limits count that time. Nothing was sent, so nothing can happen twice.
 */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const before = stoodStillMs();
  try {
    return await ask();
  } catch (error) {
    const isWait = error instanceof Error && WAIT_TEXT.test(error.message);
    if (!isWait || stoodStillMs() === before) throw error;
    return ask();
  }
}

/** A connection outside the pools. */
export function connectPatiently(config: PatientClientConfig): Promise<PatientClient> {
  return patiently(async () => {
    const client = new PatientClient({ ...config, keepAlive: true });
    survives(client);
    await client.connect();
    return client;
  });
}

/**
 * A broken connection rejects its running statement and later ones, so its error is never lost. It also emits
 * an error event, which ends the process if there is no listener. A user of the connection may be too late to
 * listen: a killed server can report its end in the same packet as its last answer, when the pool has just
 * handed on the connection and its next user has not yet been woken.
 */
export function survives(client: pg.ClientBase): void {
  client.on('error', () => {});
}
