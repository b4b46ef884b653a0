import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import type { Character } from '../characters.ts';
import type { Receipt } from './chaos-receiver.ts';

/**
 * The receiver as a process of its own with a high priority, where we may set one: the load, the judges and the nodes do
 * not keep it from noticing a request when it arrives. Its receipts come at the end, and counts of them meanwhile.
 */
export type Asked = { started: number } | { slowTokensMs: number } | { heal: true } | { finish: true };
export type Reply =
  | { urls: Record<string, string>; tokenUrl: string; authorityFile: string }
  | { arrived: Record<string, number> }
  | { receipts: Receipt[] }
  | { slowestLookMs: number; tokenWaits: { from: number; to: number }[] };

export interface Received {
  receipts: Receipt[];
  /** The longest delay with which the receiver may have noticed something. */
  slowestLookMs: number;
  /** When a client waited for a token. */
  tokenWaits: { from: number; to: number }[];
}

const PRIORITY = -15;

export class ReceiverProcess {
  readonly #child: ChildProcess;
  readonly #place: Extract<Reply, { urls: object }>;
  #arrived: Record<string, number> = {};
  readonly #receipts: Receipt[] = [];
  readonly #finished = Promise.withResolvers<Received>();

  private constructor(child: ChildProcess, place: Extract<Reply, { urls: object }>) {
    this.#child = child;
    this.#place = place;
    child.on('message', (message: Reply) => {
      if ('arrived' in message) this.#arrived = message.arrived;
      if ('receipts' in message) for (const receipt of message.receipts) this.#receipts.push(receipt);
      if ('tokenWaits' in message) this.#finished.resolve({ ...message, receipts: this.#receipts });
    });
  }

  static async start(): Promise<ReceiverProcess> {
    const child = fork(new URL('./receiver-main.ts', import.meta.url), { serialization: 'advanced' });
    const [place] = (await once(child, 'message')) as [Extract<Reply, { urls: object }>];
    try {
      setPriority(child.pid as number, PRIORITY);
    } catch {
      // Only root may. The receiver is then as late as others, and says so in slowestLookMs.
    }
    return new ReceiverProcess(child, place);
  }

  get authorityFile(): string {
    return this.#place.authorityFile;
  }

  get tokenUrl(): string {
    return this.#place.tokenUrl;
  }

  urlOf(character: Character): string {
    return this.#place.urls[character] as string;
  }

  /** How many deliveries have arrived at an endpoint. */
  arrivedAt(character: Character): number {
    return this.#arrived[character] ?? 0;
  }

  /** From now on this process may be a sender. */
  started(pid: number): void {
    this.#ask({ started: pid });
  }

  slowTokens(slowTokensMs: number): void {
    this.#ask({ slowTokensMs });
  }

  heal(): void {
    this.#ask({ heal: true });
  }

  /** All that it has received so far. */
  finish(): Promise<Received> {
    this.#ask({ finish: true });
    return this.#finished.promise;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    if (this.#child.connected) this.#child.disconnect();
    await ended;
  }

  #ask(message: Asked): void {
    this.#child.send(message);
  }
}
