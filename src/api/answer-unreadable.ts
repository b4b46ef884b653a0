import { maxHeaderSize, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '../domain/errors.ts';

/** Answers what never became a request, with the envelope of any other refusal, and ends the connection. */
export function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  // The caller is gone, or bytes of another answer are on their way: a second answer would be read as part of it.
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
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

function translate(error: Error & { code?: string }): AppError {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new AppError('headers_too_large', { limit: maxHeaderSize });
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return new AppError('request_timeout');
  return new AppError('bad_request', { detail: error.message });
}
