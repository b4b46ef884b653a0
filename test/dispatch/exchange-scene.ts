import type { IncomingMessage } from 'node:http';
import {
  HttpClient,
  type HttpClientOptions,
  type OutgoingRequest,
} from '../../src/dispatch/client/http-client.ts';
import type { ErrorOutcome, Outcome, ResponseOutcome } from '../../src/dispatch/connection/outcome.ts';
import { type LoopbackServer, listenTcp } from '../support/servers/loopback-server.ts';
import { untilEnd } from '../support/servers/until-end.ts';

/** The shared scene of the HTTP client. Clients and servers are closed after each test. */
export function exchangeScene() {
  const client = (options: Partial<HttpClientOptions> = {}): HttpClient =>
    untilEnd(new HttpClient({ egress: 'any', ...options }));
  const started = async (server: Promise<LoopbackServer>): Promise<LoopbackServer> => untilEnd(await server);
  /** Answers every request with these bytes, as they are. */
  const rawServer = (answer: string, then: 'keep' | 'end' | 'reset' = 'keep'): Promise<LoopbackServer> =>
    started(
      listenTcp((socket) => {
        socket.on('data', () => {
          socket.write(answer, () => {
            if (then === 'end') socket.end();
            if (then === 'reset') socket.resetAndDestroy();
          });
        });
      }),
    );
  return { client, started, rawServer };
}

export function request(
  server: LoopbackServer | number,
  more: Partial<OutgoingRequest> = {},
): OutgoingRequest {
  const port = typeof server === 'number' ? server : server.port;
  return {
    url: `http://127.0.0.1:${port}/hook?a=1`,
    headers: [['Content-Type', 'application/json']],
    body: Buffer.from('{"a":1}'),
    timeoutMs: 5_000,
    maxResponseBytes: 1_000,
    ...more,
  };
}

export function answered(outcome: Outcome): ResponseOutcome {
  if (outcome.kind !== 'response') throw new Error(`expected an answer: ${outcome.message}`);
  return outcome;
}

export function failed(outcome: Outcome): ErrorOutcome {
  if (outcome.kind !== 'error') throw new Error(`expected an error, got ${outcome.statusText}`);
  return outcome;
}

export async function textOf(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message) text += chunk;
  return text;
}
