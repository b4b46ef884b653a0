import { setTimeout as sleep } from 'node:timers/promises';
import { NO_BROKER_SETTINGS } from '../domain/config/source.ts';
import { AppError } from '../domain/errors.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Logger } from '../platform/logger.ts';
import type { SourceRow } from '../store/config/sources.ts';
import type { MessageStore } from './message-store.ts';
import { BrokerError, reasonOf } from './module/broker-error.ts';
import type { BrokerKind, ConnectContext } from './module/broker-module.ts';
import { brokerKind, brokerSettings, consume } from './modules.ts';
import type { SourceAlarms } from './source-alarms.ts';
import type { StatusBoard } from './status-board.ts';

/**
 * One source of a broker on this node, until it is stopped: connecting -> running -> (the connection fails) waiting ->
 * connecting again, after longer and longer waits while it does not get to running.
 */
export interface SourceConsumerDeps {
  connect: Omit<ConnectContext, 'signal' | 'log'>;
  messages: MessageStore;
  board: StatusBoard;
  alarms: SourceAlarms;
  metrics: Metrics;
  log: Logger;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

export class SourceConsumer {
  readonly #deps: SourceConsumerDeps;
  readonly #source: SourceRow;
  readonly #kind: BrokerKind;
  readonly #stop = new AbortController();
  readonly #log: Logger;
  #running: Promise<void> = Promise.resolve();
  /** Failures since messages could last be taken. */
  #failures = 0;

  constructor(deps: SourceConsumerDeps, source: SourceRow) {
    this.#deps = deps;
    this.#source = source;
    this.#kind = brokerKind(source) as BrokerKind;
    this.#log = deps.log.child({ source: source.id, broker: this.#kind });
  }

  start(): void {
    this.#deps.board.add(this.#source, this.#kind);
    // A fault of ours ends this source, not the process.
    this.#running = this.#run().catch((error: unknown) =>
      this.#log.error({ err: error }, 'a source of a broker ended; it starts again when it is changed'),
    );
  }

  /** Stores and acknowledges the messages that are being stored before it stops. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#deps.alarms.forget(this.#source.id);
  }

  async #run(): Promise<void> {
    const { board, metrics } = this.#deps;
    const { signal } = this.#stop;
    const { id } = this.#source;
    while (!signal.aborted) {
      try {
        board.connecting(id);
        await this.#consume();
        if (!signal.aborted) throw new BrokerError('The broker ended the connection.');
      } catch (error) {
        if (signal.aborted) return;
        this.#failures += 1;
        metrics.brokerFailures[this.#kind].inc();
        board.failed(id, reasonOf(error));
        this.#log.warn({ err: error }, 'the connection to a broker failed; it is tried again');
        await this.#deps.alarms.failed(this.#source, reasonOf(error));
        await sleep(waitMs(this.#failures), undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #consume(): Promise<void> {
    const { connect, messages, board } = this.#deps;
    const { id, project_id: projectId } = this.#source;
    const settings = brokerSettings(this.#source);
    if (settings === null) throw new BrokerError(NO_BROKER_SETTINGS);
    const { signal } = this.#stop;
    const source = { id, projectId, kind: this.#kind };
    await consume(settings, {
      ...connect,
      signal,
      log: this.#log,
      source: { id, projectId },
      connected: () => {
        this.#failures = 0;
        board.running(id);
        void this.#deps.alarms.connected(this.#source);
      },
      lag: (part, waiting) => board.lag(id, part, waiting),
      holdsBack: (bytes) => this.#deps.alarms.holdsBack(this.#source, bytes),
      note: (text) => board.note(id, text),
      store: async ({ signal: own, ...part }, received) => {
        board.received(id);
        const waiting = (error: unknown) => {
          board.failed(id, reasonOf(error));
          // A limit that is full, or a database that is away, is shown elsewhere.
          if (!(error instanceof AppError))
            this.#log.warn({ err: error }, 'failed to store messages of a broker; retrying');
        };
        const either = own === undefined ? signal : AbortSignal.any([signal, own]);
        const stored = await messages.store({ source, part, messages: received, signal: either, waiting });
        board.running(id);
        return stored;
      },
    });
  }
}

function waitMs(failures: number): number {
  const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
  return most / 2 + (Math.random() * most) / 2;
}
