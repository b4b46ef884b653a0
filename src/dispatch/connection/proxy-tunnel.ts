import { isIP, type Socket } from 'node:net';
import { type SecureContext, connect as tlsConnect } from 'node:tls';
import { hostPort } from './failure-text.ts';
import { ExchangeFailure } from './outcome.ts';
import { tcpConnect } from './tcp-connect.ts';

/**
 * A tunnel through an HTTP proxy: connect, send CONNECT, take over the socket after a 2xx. A proxy that is
 * unreachable, wants other credentials or does not speak HTTP is our fault. A proxy that reports that it
 * cannot or may not reach the endpoint is not.
 */

export interface Proxy {
  readonly host: string;
  readonly port: number;
  /** For a proxy that itself uses TLS. */
  readonly tlsContext: SecureContext | null;
  readonly authorization: string | null;
}

const MAX_ANSWER_BYTES = 16_384;

/** @throws TypeError unless it is an http(s) URL */
export function parseProxy(proxyUrl: string, tlsContext: SecureContext): Proxy {
  const url = new URL(proxyUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError('the proxy URL must start with http:// or https://');
  const secure = url.protocol === 'https:';
  const userInfo = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (secure ? 443 : 80)),
    tlsContext: secure ? tlsContext : null,
    authorization: userInfo === ':' ? null : `Basic ${Buffer.from(userInfo).toString('base64')}`,
  };
}

export async function proxyTunnel(
  proxy: Proxy,
  addresses: readonly string[],
  destination: string,
  signal: AbortSignal,
): Promise<Socket> {
  const named = hostPort(proxy.host, proxy.port);
  const result = await tcpConnect(addresses, proxy.port, signal);
  if (result.kind === 'aborted') throw new ExchangeFailure('aborted', 'given up', true);
  if (result.kind === 'failed')
    throw new ExchangeFailure(
      'proxy_failed',
      `the proxy ${named} cannot be reached (${result.error.code ?? result.error.message})`,
      true,
    );
  const socket =
    proxy.tlsContext === null
      ? result.socket
      : tlsConnect({
          socket: result.socket,
          secureContext: proxy.tlsContext,
          host: proxy.host,
          servername: isIP(proxy.host) === 0 ? proxy.host : '',
        });
  return requestTunnel(socket, proxy, destination, signal);
}

function requestTunnel(
  socket: Socket,
  proxy: Proxy,
  destination: string,
  signal: AbortSignal,
): Promise<Socket> {
  const named = hostPort(proxy.host, proxy.port);
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const settle = (failure: ExchangeFailure | null): void => {
      signal.removeEventListener('abort', onAbort);
      socket.off('data', onData).off('error', onBroken).off('end', onBroken);
      if (failure === null) return resolve(socket);
      socket.on('error', () => {}).destroy();
      reject(failure);
    };
    const onAbort = (): void => settle(new ExchangeFailure('aborted', 'given up', true));
    const onBroken = (error?: NodeJS.ErrnoException): void => {
      const why = error?.code === undefined ? '' : ` (${error.code})`;
      settle(new ExchangeFailure('proxy_failed', `the proxy ${named} closed the connection${why}`, true));
    };
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf('\r\n\r\n');
      if (end === -1 && received.length < MAX_ANSWER_BYTES) return;
      socket.pause();
      const failure = answerFailure(received.subarray(0, Math.max(end, 0)), named, destination);
      if (failure === null && received.length > end + 4) socket.unshift(received.subarray(end + 4));
      settle(failure);
    };
    socket.on('data', onData).on('error', onBroken).on('end', onBroken);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) return onAbort();
    const authorization =
      proxy.authorization === null ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`;
    socket.write(`CONNECT ${destination} HTTP/1.1\r\nHost: ${destination}\r\n${authorization}\r\n`);
  });
}

function answerFailure(head: Buffer, proxy: string, destination: string): ExchangeFailure | null {
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head.toString('latin1'))?.[1] ?? 0);
  if (status >= 200 && status < 300) return null;
  if (status === 0)
    return new ExchangeFailure('proxy_failed', `the proxy ${proxy} did not answer in HTTP`, true);
  if (status === 407)
    return new ExchangeFailure('proxy_failed', `the proxy ${proxy} wants other credentials (407)`, true);
  return new ExchangeFailure(
    'proxy_failed',
    `the proxy ${proxy} did not connect to ${destination} (${status})`,
  );
}
