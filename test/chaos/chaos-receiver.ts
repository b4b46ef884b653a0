import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { processOfPort } from './process-of-port.ts';

/**
 * Endpoints of different character, by path, until they are healed; then all are healthy. Every request is noted
 * with the delivery it carries, the process it came from and whether it was answered 200.
 */
export const CHARACTERS = [
  'healthy',
  'slow',
  'flapping',
  'hanging',
  'resetting',
  'garbage',
  'dripping',
] as const;
export type Character = (typeof CHARACTERS)[number];

export interface Receipt {
  deliveryId: string;
  character: Character;
  /** Of the sending node; null where it cannot be told. */
  pid: number | null;
  /** When it was sent, by the signed header: whole seconds. Unlike `at` it does not depend on how busy we are. */
  sentAt: number;
  at: number;
  isAcknowledged: boolean;
}

const ANSWER_MS = 10;
const SLOW_MS = 400;
const FLAP_MS = 3_000;
const DRIP_MS = 250;

export class ChaosReceiver {
  readonly receipts: Receipt[] = [];
  /** Processes that may be senders. */
  readonly senders = new Set<number>();
  readonly #pids = new WeakMap<Socket, number | null>();
  #isHealed = false;
  readonly #server = createServer((request, response) => this.#receive(request, response));

  static async start(): Promise<ChaosReceiver> {
    const receiver = new ChaosReceiver();
    receiver.#server.on('connection', (socket: Socket) => {
      // Looking it up takes time; once the faults are over nobody asks.
      if (!receiver.#isHealed)
        receiver.#pids.set(socket, processOfPort(socket.remotePort ?? 0, receiver.senders));
    });
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  urlOf(character: Character): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${character}`;
  }

  heal(): void {
    this.#isHealed = true;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const receipt: Receipt = {
      deliveryId: String(request.headers['webhook-id']),
      character: (request.url ?? '').slice(1) as Character,
      pid: this.#pids.get(request.socket) ?? null,
      sentAt: Number(request.headers['webhook-timestamp']) * 1000,
      at: Date.now(),
      isAcknowledged: false,
    };
    request.resume();
    request.on('end', () => {
      this.receipts.push(receipt);
      this.#answer(receipt, response);
    });
  }

  #answer(receipt: Receipt, response: ServerResponse): void {
    const { socket } = response;
    const acknowledge = (afterMs: number) => {
      setTimeout(() => {
        receipt.isAcknowledged = socket?.destroyed === false;
        response.writeHead(200).end('ok');
      }, afterMs);
    };
    switch (this.#isHealed ? 'healthy' : receipt.character) {
      case 'healthy':
        return acknowledge(ANSWER_MS);
      case 'slow':
        return acknowledge(SLOW_MS);
      case 'flapping':
        if (Math.floor(Date.now() / FLAP_MS) % 2 === 0) return acknowledge(ANSWER_MS);
        response.writeHead(500).end('no');
        return;
      case 'hanging':
        return;
      case 'resetting':
        socket?.resetAndDestroy();
        return;
      case 'garbage':
        socket?.end('\0\x01 this is not HTTP\r\n\r\n');
        return;
      case 'dripping': {
        socket?.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n');
        const drip = setInterval(() => socket?.write('X'), DRIP_MS);
        socket?.once('close', () => clearInterval(drip));
      }
    }
  }
}
