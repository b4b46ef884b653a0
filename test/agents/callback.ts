import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import type { Json } from '../support/client.ts';
import { atLeast, eventually, happened } from '../support/eventually.ts';
import { type LoopbackServer, listen } from '../support/servers/loopback-server.ts';

const certificate = (name: string) => join(import.meta.dirname, '../support/certificates', name);
/** Trusts the certificate of a callback. */
export const trust = { POSTHORN_CA_FILE: certificate('ca.pem') };

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  json: Json;
}

type Answer = (received: Received, response: ServerResponse) => void;

/** The callback of an agent: https on loopback. It echoes challenges. A test sets other answers. */
export class Callback {
  readonly requests: Received[] = [];
  /** Answers of paths that do not echo. */
  readonly #answers = new Map<string, Answer>();
  #server!: LoopbackServer;

  static async start(handler?: (request: Request) => Promise<Response>): Promise<Callback> {
    const callback = new Callback();
    const files = {
      cert: readFileSync(certificate('endpoint.pem')),
      key: readFileSync(certificate('endpoint.key')),
    };
    const server = createServer(
      files,
      (request, response) => void callback.#take(request, response, handler),
    );
    callback.#server = await listen(server);
    return callback;
  }

  get url(): string {
    return `https://localhost:${this.#server.port}`;
  }

  answer(path: string, answer: Answer): void {
    this.#answers.set(path, answer);
  }

  events(path: string): Received[] {
    return this.requests.filter((one) => one.path === path && one.json.type === undefined);
  }

  challenges(path: string): Received[] {
    return this.requests.filter((one) => one.path === path && one.json.type === 'verification');
  }

  received(path: string, count: number): Promise<Received[]> {
    return eventually(() => this.events(path), { length: atLeast(count) });
  }

  stop(): Promise<void> {
    return this.#server.close();
  }

  async #take(
    request: IncomingMessage,
    response: ServerResponse,
    handler?: (request: Request) => Promise<Response>,
  ): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { url: path = '', headers } = request;
    const received = { path, headers, body, json: JSON.parse(body.toString()) as Json };
    this.requests.push(received);
    if (handler !== undefined) await pass(received, response, (one) => handler(requestOf(this.url, one)));
    else (this.#answers.get(path) ?? echo)(received, response);
    happened();
  }
}

const echo: Answer = ({ json }, response) =>
  response.end(json.type === 'verification' ? JSON.stringify({ challenge: json.challenge }) : 'ok');

function requestOf(base: string, { path, headers, body }: Received): Request {
  const plain = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
  return new Request(base + path, { method: 'POST', headers: plain, body });
}

async function pass(
  received: Received,
  response: ServerResponse,
  handle: (received: Received) => Promise<Response>,
): Promise<void> {
  const answer = await handle(received);
  response
    .writeHead(answer.status, Object.fromEntries(answer.headers))
    .end(Buffer.from(await answer.arrayBuffer()));
}
