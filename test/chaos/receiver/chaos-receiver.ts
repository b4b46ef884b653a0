import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createPlainServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { TestAuthority } from '../../support/servers/issue-certificate.ts';
import { type Character, profileOf } from '../characters.ts';
import { type Answering, answer } from './answers.ts';
import { LoopWatch } from './loop-watch.ts';
import { type Sender, Senders } from './senders.ts';
import type { TokenServer } from './token-server.ts';

/**
 * Endpoints of different character, by path, until they are healed. Then all answer 200 at once. It records
 * every request with its deliveries, its sending process and whether it was answered 200.
 */
export interface Receipt {
  deliveryId: string;
  character: Character;
  sender: Sender;
  /** When it was sent, by the signed header, in whole seconds. Unlike `at` it does not depend on our load. */
  sentAt: number;
  /** It arrived after this and not later than `at`. */
  after: number;
  at: number;
  isAcknowledged: boolean;
}

/** How long a connection of `connecting` waits for its handshake: minimum and maximum. */
const CONNECT_MS = [200, 1_000] as const;

export class ChaosReceiver {
  readonly receipts: Receipt[] = [];
  readonly senders = new Senders();
  /** PEM of the authority behind the certificate of `connecting`. */
  readonly authorityFile: string;
  readonly #authority = new TestAuthority();
  readonly #tokens: TokenServer;
  readonly #senderOf = new WeakMap<Socket, Sender>();
  readonly #served = new WeakMap<Socket, number>();
  /** Since when a connection may have waited to be accepted. */
  readonly #waitingSince = new WeakMap<Socket, number>();
  readonly #sockets = new Set<Socket>();
  readonly #watch = new LoopWatch();
  #isHealed = false;
  #connections = 0;
  readonly #plain = createServer((request, response) => this.#receive(request, response));
  readonly #tls = createTlsServer(this.#authority.issue('localhost', 1), (request, response) =>
    this.#receive(request, response),
  );
  /** Accepts connections for the TLS server and delays each for a while. */
  readonly #late: Server = createPlainServer((socket) => this.#connectLate(socket));

  private constructor(tokens: TokenServer, dir: string) {
    this.#tokens = tokens;
    this.authorityFile = join(dir, 'authority.pem');
  }

  static async start(tokens: TokenServer): Promise<ChaosReceiver> {
    const receiver = new ChaosReceiver(tokens, await mkdtemp(join(tmpdir(), 'posthorn-receiver-')));
    await writeFile(receiver.authorityFile, receiver.#authority.pem);
    receiver.#plain.on('connection', (socket: Socket) => receiver.#connected(socket));
    receiver.#tls.on('secureConnection', (socket: Socket) => receiver.#connected(socket));
    for (const server of [receiver.#plain, receiver.#late])
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  urlOf(character: Character): string {
    const isLate = character === 'connecting';
    const { port } = (isLate ? this.#late : this.#plain).address() as AddressInfo;
    return `${isLate ? 'https' : 'http'}://127.0.0.1:${port}/${character}`;
  }

  /** The longest delay with which we may have noticed something. */
  get slowestLookMs(): number {
    return this.#watch.slowestMs;
  }

  heal(): void {
    this.#isHealed = true;
  }

  async stop(): Promise<void> {
    this.#watch.stop();
    await this.senders.stop();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([this.#plain, this.#late].map((server) => new Promise((done) => server.close(done))));
    await rm(dirname(this.authorityFile), { recursive: true, force: true });
  }

  #connected(socket: Socket): void {
    this.#keep(socket);
    this.#waitingSince.set(socket, this.#watch.accepted());
    this.#senderOf.set(socket, this.senders.of(socket));
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    // A sender that disconnects in the middle is one of our own faults.
    socket.on('error', () => socket.destroy());
  }

  #connectLate(socket: Socket): void {
    this.#keep(socket);
    const [least, most] = CONNECT_MS;
    const waitMs = this.#isHealed ? 0 : least + ((this.#connections++ * 277) % (most - least));
    setTimeout(() => this.#tls.emit('connection', socket), waitMs);
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const nth = (this.#served.get(socket) ?? 0) + 1;
    this.#served.set(socket, nth);
    const { lastLook } = this.#watch;
    const character = (request.url ?? '').slice(1) as Character;
    const receipts: Receipt[] = [];
    const about = {
      character,
      sender: this.#senderOf.get(socket) ?? { pid: null },
      sentAt: Number(request.headers['webhook-timestamp']) * 1000,
      after: nth > 1 ? lastLook : Math.min(lastLook, this.#waitingSince.get(socket) ?? lastLook),
      at: Date.now(),
    };
    const context: Answering = {
      nth,
      isAuthorised: this.#tokens.isGood(request.headers.authorization),
      acknowledged: () => {
        for (const receipt of receipts) receipt.isAcknowledged = !socket.destroyed;
      },
    };
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const ids =
        profileOf(character).batch === undefined
          ? [String(request.headers['webhook-id'])]
          : (JSON.parse(Buffer.concat(chunks).toString()) as { id: string }[]).map(({ id }) => id);
      receipts.push(...ids.map((deliveryId) => ({ deliveryId, ...about, isAcknowledged: false })));
      this.receipts.push(...receipts);
      answer(this.#isHealed ? 'healthy' : character, response, context);
    });
  }
}
