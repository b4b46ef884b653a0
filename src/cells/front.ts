import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { AppError } from '../domain/errors.ts';
import type { Cell, Directory } from './directory.ts';
import { type RequestTarget, targetOf } from './request-target.ts';

/**
 * Hands each request to the server of its cell, before a byte of its body is read. A cell does everything else itself,
 * authentication included, as if it was alone: a request that is handed to the wrong cell finds nothing there.
 */
const REFUSED = Symbol('why a request has no cell');

type Refused = IncomingMessage & { [REFUSED]?: Error };

export interface FrontDeps {
  /** Listens. It has the routes of the process itself. */
  server: FastifyInstance;
  /** The home first. */
  cells: readonly [Cell, ...Cell[]];
  directory: Directory;
}

export function openFront({ server, cells, directory }: FrontDeps): void {
  const [home] = cells;
  // Everything else that the process itself answers is a refusal.
  server.all('/*', {
    schema: { hide: true },
    onRequest: ({ raw }, _reply, done) => done((raw as Refused)[REFUSED]),
    handler: () => undefined,
  });
  const find = async (target: RequestTarget): Promise<Cell> => {
    if (target.kind === 'any') return cells.find((cell) => cell.server() !== undefined) ?? home;
    if (target.kind === 'home' || target.kind === 'process') return home;
    const id = target.kind === 'project' ? target.id : await directory.projectOf(target);
    return (typeof id === 'string' ? await directory.cellOf(id) : undefined) ?? home;
  };
  const known = (target: RequestTarget): Cell | undefined =>
    target.kind === 'project' ? directory.peek(target.id) : undefined;
  const refuse = (error: Error, request: Refused, response: ServerResponse) => {
    request[REFUSED] = error;
    server.routing(request, response);
  };
  const hand = (cell: Cell, request: IncomingMessage, response: ServerResponse) => {
    const there = cell.server();
    if (there === undefined) refuse(awayError(cell === home), request, response);
    else there.routing(request, response);
  };
  takeRequests(server, (request, response) => {
    const target = targetOf(request);
    if (target.kind === 'process') return server.routing(request, response);
    const cell = known(target);
    if (cell !== undefined) return hand(cell, request, response);
    find(target).then(
      (found) => hand(found, request, response),
      (error: Error) => refuse(error, request, response),
    );
  });
  server.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const target = targetOf(request);
    find(target).then(
      (cell) => {
        if (cell.server()?.server.emit('upgrade', request, socket, head) !== true) socket.end(UNAVAILABLE);
      },
      () => socket.end(UNAVAILABLE),
    );
  });
}

const UNAVAILABLE = 'HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n\r\n';

const awayError = (isHome: boolean) =>
  new AppError(isHome ? 'home_unavailable' : 'cell_unavailable', { retry: 1 });

/** In place of the framework's own listener, the first one. */
function takeRequests({ server }: FastifyInstance, take: RequestListener): void {
  const [own] = server.listeners('request') as RequestListener[];
  if (own === undefined) throw new Error('the server has no listener for requests');
  server.off('request', own);
  server.prependListener('request', take);
}
