import type { Socket } from 'node:net';
import { AppError } from '../domain/errors.ts';
import { maxHeaderSize, STATUS_CODES } from '../platform/node-http.ts';
import { ANSWER_HEADERS } from './http/answer-headers.ts';

/** Answers an invalid HTTP request with the usual error envelope, and closes the connection. */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  // The caller has disconnected, or bytes of another response are on their way. A second response would be
  // read as part of it.
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const { status, message, code } = translate(error);
  const body = JSON.stringify({ status: false, message, code });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...Object.entries(ANSWER_HEADERS).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

function translate(error: Error & { code?: string }): AppError {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new AppError('headers_too_large', { limit: maxHeaderSize });
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return new AppError('request_timeout');
  return new AppError('bad_request', { detail: error.message });
}
