import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket, WebSocketServer } from 'ws';
import { AppError } from '../../domain/errors.ts';
import { ServerResponse } from '../../platform/node-http.ts';

/**
 * WebSocket upgrades as requests of a route. An upgrade goes through the hooks of the route like any request, so a caller
 * without access gets the usual answer. Then the handler upgrades it.
 *
 *   upgrade -> the server hands over the socket; the request is routed with a response that writes to it;
 *   refused -> the response is written, and the socket is closed after it;
 *   open    -> the handler took the socket with `open`.
 */
const PENDING = Symbol('pending upgrade');

type Upgrading = IncomingMessage & { [PENDING]?: { socket: Duplex; head: Buffer } };

export class WebSockets {
  readonly #maxPayload: number;
  /** Made for the first upgrade. The library takes 0.03 s of CPU to load, which most nodes never need. */
  #server: WebSocketServer | undefined;

  constructor(app: FastifyInstance, maxPayload: number) {
    this.#maxPayload = maxPayload;
    app.server.on('upgrade', (request: Upgrading, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      request[PENDING] = { socket, head };
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket as never);
      response.on('finish', () => socket.end());
      app.routing(request, response);
    });
    app.addHook('preClose', async () => {
      for (const socket of this.#server?.clients ?? []) {
        socket.close(STOPPING, 'this node stops');
        // A program that does not answer does not hold up the stop.
        setTimeout(() => socket.terminate(), LAST_WORDS_MS).unref();
      }
    });
  }

  /** Takes over the socket of a request. Throws if it asks for no upgrade. */
  async open(request: FastifyRequest, reply: FastifyReply): Promise<WebSocket> {
    const raw = request.raw as Upgrading;
    const pending = raw[PENDING];
    if (pending === undefined) throw new AppError('upgrade_required');
    const { WebSocketServer } = await import('ws');
    this.#server ??= new WebSocketServer({
      noServer: true,
      maxPayload: this.#maxPayload,
      clientTracking: true,
    });
    const server = this.#server;
    reply.hijack();
    reply.raw.detachSocket(pending.socket as never);
    return new Promise((resolve) => {
      server.handleUpgrade(raw, pending.socket, pending.head, resolve);
    });
  }
}

const STOPPING = 1001;
const LAST_WORDS_MS = 1_000;
