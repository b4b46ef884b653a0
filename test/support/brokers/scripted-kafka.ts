import { createServer, type Socket } from 'node:net';
import { type LoopbackServer, listen } from '../servers/loopback-server.ts';

/**
 * A server that speaks as much of Kafka's protocol as one who sends needs, in its oldest form, and breaks it where a test says
 * so. The real Kafka is in the conformance suite.
 */
const API = { produce: 0, metadata: 3, handshake: 17, versions: 18, initProducer: 22, authenticate: 36 };
export type Api = keyof typeof API;

export interface KafkaRequest {
  body: Buffer;
  socket: Socket;
  answer(body: Buffer): void;
}

/** The answers that a test chooses. The other calls get their usual one. */
export type Script = Partial<Record<Api, (request: KafkaRequest) => void>>;

const int16 = (value: number) => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const int64 = (value: bigint) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
};
const NULL = int16(-1);
const text = (value: string) => Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
const list = (items: readonly Buffer[]) => Buffer.concat([int32(items.length), ...items]);

const VERSIONS: readonly [Api, least: number, most: number][] = [
  ['versions', 0, 1],
  ['metadata', 0, 4],
  ['initProducer', 0, 0],
  ['produce', 3, 3],
  ['handshake', 0, 1],
  ['authenticate', 0, 1],
];

export const signInAnswer = (bytes: string | Buffer, code = 0, lifetimeMs = 0n): Buffer => {
  const data = Buffer.from(bytes as string);
  return Buffer.concat([int16(code), NULL, int32(data.length), data, int64(lifetimeMs)]);
};

export class ScriptedKafka {
  readonly #server: LoopbackServer;
  readonly #script: Script;
  readonly #poked = new WeakMap<Socket, number>();
  /** The numbers of the partitions of the topic `t`. */
  partitions: number[] = [0];
  /** The broker that leads each of them. */
  readonly leader = 1;
  /** The bodies of all messages that it stored, with their partition. */
  readonly stored: string[] = [];

  private constructor(script: Script, server: LoopbackServer) {
    this.#script = script;
    this.#server = server;
  }

  static async start(script: Script = {}): Promise<ScriptedKafka> {
    // It keeps its side open when a client ends its own.
    const server = createServer({ allowHalfOpen: true }, (socket) => kafka.#serve(socket));
    const kafka: ScriptedKafka = new ScriptedKafka(script, await listen(server));
    return kafka;
  }

  get broker(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  /**
   * Connections that clients have open. One that is closed answers a byte by a reset, which the next byte shows. Three bytes
   * are too short for an answer.
   */
  open(): number {
    for (const socket of this.#server.sockets) {
      const poked = this.#poked.get(socket) ?? 0;
      if (poked < 3) socket.write('x');
      this.#poked.set(socket, poked + 1);
    }
    return this.#server.sockets.size;
  }

  /** All connections so far. */
  connections(): number {
    return this.#server.connections();
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #serve(socket: Socket): void {
    let read = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      read = Buffer.concat([read, chunk]);
      while (read.length >= 4 && read.length >= 4 + read.readInt32BE()) {
        const length = read.readInt32BE();
        this.#answer(read.subarray(4, 4 + length), socket);
        read = read.subarray(4 + length);
      }
    });
  }

  #answer(request: Buffer, socket: Socket): void {
    const [key, version, id] = [request.readInt16BE(), request.readInt16BE(2), request.subarray(4, 8)];
    const body = request.subarray(10 + Math.max(0, request.readInt16BE(8)));
    const answer = (bytes: Buffer) => void socket.write(Buffer.concat([int32(bytes.length + 4), id, bytes]));
    const [api] = Object.entries(API).find(([, number]) => number === key) ?? [];
    const scripted = this.#script[api as Api];
    if (scripted === undefined) answer(this.usual(api as Api, body, version));
    else scripted({ body, socket, answer });
  }

  usual(api: Api, body: Buffer, version = 0): Buffer {
    if (api === 'versions') return versionsAnswer(version);
    if (api === 'metadata') return this.#metadata(body.readInt32BE() > 0);
    if (api === 'handshake') return Buffer.concat([int16(0), list(['PLAIN', 'SCRAM-SHA-512'].map(text))]);
    if (api === 'authenticate') return signInAnswer('');
    if (api === 'initProducer') return Buffer.concat([int32(0), int16(0), int64(1n), int16(0)]);
    return this.produce(body);
  }

  /** `codes`: the errors of partitions. The others store their part. */
  produce(body: Buffer, codes: Readonly<Record<number, number>> = {}): Buffer {
    // The transaction (null), the acks, the timeout, and one topic.
    let at = 2 + 2 + 4 + 4;
    at += 2 + body.readInt16BE(at);
    const count = body.readInt32BE(at);
    at += 4;
    const answers: Buffer[] = [];
    for (let n = 0; n < count; n += 1) {
      const [partition, length] = [body.readInt32BE(at), body.readInt32BE(at + 4)];
      const records = body.subarray(at + 8, at + 8 + length).toString('latin1');
      at += 8 + length;
      const code = codes[partition] ?? 0;
      const first = BigInt(this.stored.length);
      if (code === 0)
        for (const [word] of records.matchAll(/\{"n":\d+\}/g)) this.stored.push(`${partition} ${word}`);
      answers.push(
        Buffer.concat([int32(partition), int16(code), int64(code === 0 ? first : -1n), int64(-1n)]),
      );
    }
    return Buffer.concat([list([Buffer.concat([text('t'), list(answers)])]), int32(0)]);
  }

  #metadata(isAsked: boolean): Buffer {
    const broker = Buffer.concat([int32(1), text('127.0.0.1'), int32(this.#server.port), NULL]);
    const partition = (number: number) =>
      Buffer.concat([int16(0), int32(number), int32(this.leader), list([int32(1)]), list([int32(1)])]);
    const topic = Buffer.concat([
      int16(0),
      text('t'),
      Buffer.from([0]),
      list(this.partitions.map(partition)),
    ]);
    return Buffer.concat([int32(0), list([broker]), text('cluster'), int32(1), list(isAsked ? [topic] : [])]);
  }
}

/** From version 3 on in the compact form. */
function versionsAnswer(version: number): Buffer {
  const isCompact = version >= 3;
  const items = VERSIONS.map(([api, least, most]) =>
    Buffer.concat([int16(API[api]), int16(least), int16(most), Buffer.alloc(isCompact ? 1 : 0)]),
  );
  return isCompact
    ? Buffer.concat([int16(0), Buffer.from([items.length + 1]), ...items, int32(0), Buffer.from([0])])
    : Buffer.concat([int16(0), list(items), int32(0)]);
}
