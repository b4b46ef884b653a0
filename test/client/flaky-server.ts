import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The faults on the way to the server and back. `stored` says whether the server got the request. */
const faults = [
  { name: 'dropped before', stored: false },
  { name: '429', stored: false },
  { name: '503', stored: false },
  { name: 'dropped after', stored: true },
  { name: 'half an answer', stored: true },
  { name: 'an answer that is cut', stored: true },
  { name: 'outcome unknown', stored: true },
  { name: 'bad gateway', stored: true },
] as const;

const LOST = { name: 'dropped after', stored: true } as const;
const OF_CONNECTION = new Set(['host', 'connection', 'content-length', 'transfer-encoding']);

/**
 * A server in front of the real one. The number in `data.n` of an event says which faults its attempts meet,
 * one after another, so that a run is the same each time: its digits to the base of the number of faults.
 */
export class FlakyServer {
  /** How often each fault happened. */
  readonly counts = new Map<string, number>();
  readonly #target: string;
  readonly #attempts = new Map<number, number>();
  readonly #server = createServer((request, response) => {
    this.#handle(request, response).catch(() => response.destroy());
  });

  #answers = 0;
  /** It loses every second answer, and has no other fault. */
  readonly #isLossy: boolean;

  private constructor(target: string, isLossy: boolean) {
    this.#target = target;
    this.#isLossy = isLossy;
  }

  static async start(target: string, { isLossy = false } = {}): Promise<FlakyServer> {
    const server = new FlakyServer(target, isLossy);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const fault = this.#nextFault(body);
    if (fault !== undefined) this.counts.set(fault.name, (this.counts.get(fault.name) ?? 0) + 1);
    if (fault?.stored === false) return refuse(fault.name, response);
    const answer = await fetch(`${this.#target}${request.url}`, {
      method: request.method ?? 'GET',
      headers: Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
        OF_CONNECTION.has(name) ? [] : values.map((value): [string, string] => [name, value]),
      ),
      ...(body.length > 0 && { body }),
    });
    const text = await answer.text();
    if (fault === undefined)
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
    else spoil(fault.name, response, { status: answer.status, text });
  }

  #nextFault(body: Buffer): (typeof faults)[number] | undefined {
    if (this.#isLossy) return this.#answers++ % 2 === 0 ? LOST : undefined;
    if (body.length === 0) return undefined;
    const { n } = (JSON.parse(body.toString()) as { data: { n: number } }).data;
    const attempt = this.#attempts.get(n) ?? 0;
    this.#attempts.set(n, attempt + 1);
    const digits = n.toString(faults.length);
    return attempt < digits.length ? faults[Number(digits[attempt])] : undefined;
  }
}

function refuse(fault: string, response: ServerResponse): void {
  if (fault === 'dropped before') response.destroy();
  else if (fault === '429') refusal(response, 429, 'overloaded');
  else refusal(response, 503, 'stopping');
}

function spoil(
  fault: string,
  response: ServerResponse,
  { status, text }: { status: number; text: string },
): void {
  const half = text.slice(0, text.length / 2);
  if (fault === 'dropped after') response.destroy();
  else if (fault === 'outcome unknown') refusal(response, 503, 'outcome_unknown');
  else if (fault === 'bad gateway')
    response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
  else if (fault === 'an answer that is cut') response.writeHead(status).end(half);
  else {
    response.writeHead(status, { 'content-length': Buffer.byteLength(text) });
    response.write(half, () => response.destroy());
  }
}

function refusal(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' });
  response.end(JSON.stringify({ status: false, message: code, code }));
}
