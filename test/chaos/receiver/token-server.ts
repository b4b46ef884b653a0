import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** An OAuth 2 server for client credentials. Its tokens are short-lived, and while it is slow each takes seconds. */
const LIFE_SECONDS = 20;

export class TokenServer {
  /** How long each token takes. */
  slowMs = 0;
  /** When a client waited for a token. */
  readonly waits: { from: number; to: number }[] = [];
  readonly #issued = new Set<string>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(): Promise<TokenServer> {
    const server = new TokenServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/token`;
  }

  isGood(authorization: string | undefined): boolean {
    return this.#issued.has(authorization ?? '');
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const wait = { from: Date.now(), to: Number.POSITIVE_INFINITY };
    this.waits.push(wait);
    request.resume();
    await delay(this.slowMs);
    const token = `token-${this.#issued.size}`;
    this.#issued.add(`Bearer ${token}`);
    wait.to = Date.now();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: LIFE_SECONDS }));
  }
}
