import { once } from 'node:events';
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { NetworkContext } from '../module/broker-module.ts';
import type { MessageLimit } from '../module/producer.ts';
import { vettedAddresses, vettedLookup } from '../module/vetted-lookup.ts';
import type { S3Address } from './s3-address.ts';

/** Connections to one server. They go to vetted addresses only, and follow no redirect. */
const AT_ONCE = 8;
/** A server that reads nothing and says nothing for so long. The message has its own, shorter limit as a rule. */
const SILENCE_MS = 120_000;
const MAX_ANSWER_BYTES = 65_536;

export interface Request {
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
  address: string | null;
}

export class S3Connection {
  readonly #address: S3Address;
  readonly #agent: HttpAgent;
  /** That wait for a connection, too. */
  readonly #underWay = new Set<ClientRequest>();
  #isClosed = false;

  private constructor(address: S3Address, agent: HttpAgent) {
    this.#address = address;
    this.#agent = agent;
  }

  static async open(address: S3Address, context: NetworkContext): Promise<S3Connection> {
    const { egress, secureContext } = context;
    // No lookup is made for an address.
    await vettedAddresses(egress, address.hostname);
    const options = { keepAlive: true, maxSockets: AT_ONCE, lookup: vettedLookup(egress) };
    const agent = address.isTls
      ? new HttpsAgent({ ...options, secureContext: secureContext() })
      : new HttpAgent(options);
    return new S3Connection(address, agent);
  }

  /** A server may close an idle connection as a request is written: the same request goes once more, on another one. */
  async exchange(request: Request, limit: MessageLimit): Promise<Answer> {
    limit.begin('connecting');
    const first = this.#begin(request, limit);
    try {
      return await answerTo(first);
    } catch (error) {
      const isStale = first.reusedSocket && /ECONNRESET|EPIPE/.test((error as { code?: string }).code ?? '');
      if (!isStale || this.#isClosed || limit.isOver) throw error;
      limit.begin('connected');
      return await answerTo(this.#begin(request, limit));
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const request of this.#underWay) request.destroy();
    // Also a connection that was opened for one of them.
    this.#agent.on('free', (socket: Socket) => socket.destroy());
    this.#agent.destroy();
  }

  #begin({ method, path, headers, body }: Request, limit: MessageLimit): ClientRequest {
    if (this.#isClosed || limit.isOver) throw new Error('not sent');
    const { isTls, hostname: host, port } = this.#address;
    const begin = isTls ? httpsRequest : httpRequest;
    const begun = begin({ agent: this.#agent, host, port, method, path, headers, timeout: SILENCE_MS });
    begun.on('timeout', () =>
      begun.destroy(Object.assign(new Error('no byte for too long'), { code: 'ETIMEDOUT' })),
    );
    // `answerTo` hears of it. After the answer it is of no interest.
    begun.on('error', () => undefined);
    this.#underWay.add(begun);
    begun.on('close', () => this.#underWay.delete(begun));
    limit.whenOver(() => begun.destroy());
    begun.end(body);
    return begun;
  }
}

async function answerTo(request: ClientRequest): Promise<Answer> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const address = response.socket.remoteAddress ?? null;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // The rest is of no interest, and the connection ends with it.
    if (bytes > MAX_ANSWER_BYTES) break;
  }
  const text = Buffer.concat(chunks).subarray(0, MAX_ANSWER_BYTES).toString();
  return { status: response.statusCode ?? 0, headers: response.headers, text, address };
}
