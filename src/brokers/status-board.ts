import type { Logger } from '../platform/logger.ts';
import { Loop } from '../platform/loop.ts';
import { removeBrokerStatus, saveBrokerStatus } from '../store/brokers/broker-status.ts';
import type { Database } from '../store/database/database.ts';
import type { BrokerKind } from './module/broker-module.ts';

/**
 * The status of the sources that this node runs. It is written to a table that all nodes read: changes within a second,
 * and everything every ten seconds. So an old row belongs to a node that is gone.
 */
const FLUSH_MS = 1_000;
const REFRESH_MS = 10_000;

export interface SourceStatus {
  state: 'connecting' | 'running' | 'waiting';
  reason: string;
  lastMessageAt: number | null;
  lastError: string;
  lastErrorAt: number | null;
  lag: number | null;
}

export interface StatusBoardDeps {
  db: Database;
  nodeId: string;
  now(): number;
  log: Logger;
}

interface Entry extends SourceStatus {
  projectId: string;
  kind: BrokerKind;
  /** The reason that is shown while it runs. */
  note: string;
  parts: Map<string, number>;
  isChanged: boolean;
}

export class StatusBoard {
  readonly #deps: StatusBoardDeps;
  readonly #entries = new Map<string, Entry>();
  #removed: string[] = [];
  #refreshAt = 0;
  readonly #flushes: Loop;

  constructor(deps: StatusBoardDeps) {
    this.#deps = deps;
    this.#flushes = new Loop({
      turn: () => this.#flush(),
      onError: (error) => this.#failed(error),
      everyMs: FLUSH_MS,
    });
  }

  start(): void {
    this.#flushes.start();
  }

  async stop(): Promise<void> {
    await this.#flushes.stop();
    this.#removed.push(...this.#entries.keys());
    this.#entries.clear();
    await this.#flush().catch((error: unknown) => this.#failed(error));
  }

  /** Sources by state, and messages that wait for this node, by kind of broker. */
  usage(): { states: Record<SourceStatus['state'], number>; lag: Map<BrokerKind, number> } {
    const states = { connecting: 0, running: 0, waiting: 0 };
    const lags = new Map<BrokerKind, number>();
    for (const { state, kind, lag } of this.#entries.values()) {
      states[state] += 1;
      lags.set(kind, (lags.get(kind) ?? 0) + (lag ?? 0));
    }
    return { states, lag: lags };
  }

  add(source: { id: string; project_id: string }, kind: BrokerKind): void {
    const none = { reason: '', lastMessageAt: null, lastError: '', lastErrorAt: null, lag: null };
    const entry = { ...none, ...this.#entries.get(source.id), parts: new Map<string, number>() };
    this.#entries.set(source.id, {
      ...entry,
      kind,
      note: '',
      state: 'connecting',
      projectId: source.project_id,
      isChanged: true,
    });
  }

  remove(sourceId: string): void {
    if (this.#entries.delete(sourceId)) this.#removed.push(sourceId);
  }

  connecting(sourceId: string): void {
    this.#set(sourceId, { state: 'connecting', reason: '' });
  }

  running(sourceId: string): void {
    const entry = this.#entries.get(sourceId);
    if (entry !== undefined && (entry.state !== 'running' || entry.reason !== entry.note))
      this.#set(sourceId, { state: 'running', reason: entry.note });
  }

  note(sourceId: string, note: string): void {
    const entry = this.#entries.get(sourceId);
    if (entry !== undefined) entry.note = note;
  }

  failed(sourceId: string, reason: string): void {
    this.#set(sourceId, { state: 'waiting', reason, lastError: reason, lastErrorAt: this.#deps.now() });
  }

  received(sourceId: string): void {
    this.#set(sourceId, { lastMessageAt: this.#deps.now() });
  }

  /** Null: this node no longer takes that part. */
  lag(sourceId: string, part: string, messages: number | null): void {
    const entry = this.#entries.get(sourceId);
    if (entry === undefined) return;
    if (messages === null) entry.parts.delete(part);
    else entry.parts.set(part, messages);
    const sum = [...entry.parts.values()].reduce((all, one) => all + one, 0);
    const lag = entry.parts.size === 0 ? null : sum;
    if (lag !== entry.lag) this.#set(sourceId, { lag });
  }

  #set(sourceId: string, change: Partial<SourceStatus>): void {
    const entry = this.#entries.get(sourceId);
    if (entry !== undefined) Object.assign(entry, change, { isChanged: true });
  }

  async #flush(): Promise<void> {
    const { db, nodeId } = this.#deps;
    const isWhole = performance.now() >= this.#refreshAt;
    const entries = [...this.#entries].filter(([, { isChanged }]) => isWhole || isChanged);
    const removed = this.#removed;
    this.#removed = [];
    for (const [, entry] of entries) entry.isChanged = false;
    try {
      await removeBrokerStatus(db, nodeId, removed);
      await saveBrokerStatus(
        db,
        nodeId,
        entries.map(([sourceId, entry]) => ({ sourceId, ...entry })),
      );
      if (isWhole) this.#refreshAt = performance.now() + REFRESH_MS;
    } catch (error) {
      this.#removed.push(...removed);
      for (const [, entry] of entries) entry.isChanged = true;
      throw error;
    }
  }

  #failed(error: unknown): void {
    this.#deps.log.debug({ err: error }, 'failed to write the status of sources; retrying in 1 s');
  }
}
