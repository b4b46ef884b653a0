import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '../../domain/errors.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import { maxHeaderSize, STATUS_CODES } from '../../platform/node-http.ts';
import { ANSWER_HEADERS } from '../http/answer/envelope.ts';

/**
 * Answers an invalid HTTP request with the usual error envelope, and closes the connection.
 *
 *   the request before it is answered  -> the answer;
 *   the request before it is not yet   -> the answer after that one;
 *   its own body is invalid            -> the answer, unless its response has begun.
 *
 * An answered connection discards further bytes until the caller closes it. A connection that is closed with
 * unread bytes is reset, and a reset can take the answer away from the caller.
 */
const LINGER_MS = 1_000;

type ClientError = Error & { code?: string };

export class UnreadableRequests {
  readonly #ids: IdFactory;
  readonly #log: Logger;
  /** The newest response of each connection. Those before it end before it. */
  readonly #responses = new WeakMap<Socket, ServerResponse>();
  readonly #answered = new WeakSet<Socket>();

  constructor({ ids, log }: { ids: IdFactory; log: Logger }) {
    this.#ids = ids;
    this.#log = log;
  }

  watch(server: Server): void {
    server.on('request', ({ socket }, response) => this.#responses.set(socket, response));
  }

  /** Node calls it again with each further packet. */
  readonly answer = (error: ClientError, socket: Socket): void => {
    if (error.code === 'ECONNRESET') socket.destroy();
    if (socket.destroyed || this.#answered.has(socket)) return;
    this.#answered.add(socket);
    const response = this.#responses.get(socket);
    if (response === undefined) this.#end(error, socket);
    else if (response.req.complete) this.#endAfter(response, error, socket);
    // Without a socket the response is over, or waits for an earlier one.
    else if (response.socket === null || response.headersSent) socket.destroy();
    else this.#end(error, socket);
  };

  #endAfter(response: ServerResponse, error: ClientError, socket: Socket): void {
    if (response.writableFinished) this.#end(error, socket);
    else response.once('close', () => this.#end(error, socket));
  }

  #end(error: ClientError, socket: Socket): void {
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
    // The response before it has closed the connection.
    if (!socket.writable) return;
    const { status, message, code } = translate(error);
    const id = this.#ids.next();
    this.#log.debug({ code, request: id, ip: socket.remoteAddress }, 'request refused');
    const body = JSON.stringify({ status: false, message, code });
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${id}`,
      'connection: close',
      ...Object.entries(ANSWER_HEADERS).map(([name, value]) => `${name}: ${value}`),
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  }
}

function translate(error: ClientError): AppError {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new AppError('headers_too_large', { limit: maxHeaderSize });
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return new AppError('request_timeout');
  return new AppError('bad_request', { detail: error.message });
}
