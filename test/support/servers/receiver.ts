import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atLeast, eventually, happened } from '../eventually.ts';

/** A webhook endpoint that records its requests and answers as configured. */
export interface Received {
  method: string;
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
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body,
        json: parse(body),
        at: performance.now(),
      };
      this.requests.push(received);
      this.#answer(received, response);
      happened();
    });
  });
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

  at(path: string): Received[] {
    return this.requests.filter((request) => request.path === path);
  }

  /** The requests, to one path if it is named, once that many have come in. */
  async received(count: number, path?: string): Promise<Received[]> {
    const requests = () => (path === undefined ? this.requests : this.at(path));
    await eventually(() => requests().length, atLeast(count));
    return requests();
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
}

function parse(body: Buffer): ReturnType<typeof JSON.parse> {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
