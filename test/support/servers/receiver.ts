import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GIVE_UP_MS } from '../eventually.ts';

/** A webhook endpoint that records its requests and answers as configured. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  json: ReturnType<typeof JSON.parse>;
  at: number;
}

export type Answer = number | ((request: Received, response: ServerResponse) => void);

export class Receiver {
  readonly requests: Received[] = [];
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const received = {
        path: request.url ?? '',
        headers: request.headers,
        body,
        json: parse(body),
        at: performance.now(),
      };
      this.requests.push(received);
      this.#answer(received, response);
      for (const waiter of this.#waiters) waiter();
    });
  });
  readonly #waiters = new Set<() => void>();
  #next: Answer[] = [];
  #always: Answer = 200;

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Answers for the next requests, in order. Afterwards `answerAlways` applies. */
  answerNext(...answers: Answer[]): void {
    this.#next.push(...answers);
  }

  answerAlways(answer: Answer): void {
    this.#always = answer;
  }

  /** Resolves once that many requests have come in. */
  async received(count: number): Promise<Received[]> {
    await this.#until(
      () => this.requests.length >= count,
      () => `${count} requests; ${this.requests.length} came`,
    );
    return this.requests;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(received: Received, response: ServerResponse): void {
    const answer = this.#next.shift() ?? this.#always;
    if (typeof answer === 'number') response.writeHead(answer).end(answer === 200 ? 'ok' : 'no');
    else answer(received, response);
  }

  #until(done: () => boolean, what: () => string): Promise<void> {
    if (done()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(check);
        reject(new Error(`waited ${GIVE_UP_MS} ms for ${what()}`));
      }, GIVE_UP_MS);
      const check = () => {
        if (!done()) return;
        clearTimeout(timer);
        this.#waiters.delete(check);
        resolve();
      };
      this.#waiters.add(check);
    });
  }
}

function parse(body: Buffer): ReturnType<typeof JSON.parse> {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
