import type { TLSSocket } from 'node:tls';
import { ExchangeFailure } from './outcome.ts';

/** Turns errors of sockets, TLS and undici into a code and a sentence that names the host. */

export interface Peer {
  /** Name or address as in the URL. */
  readonly host: string;
  readonly port: number;
}

const LOCAL_RESOURCE_CODES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAGAIN']);

export function hostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function connectFailure(error: NodeJS.ErrnoException, peer: Peer, address: string): ExchangeFailure {
  const where = whereOf(peer, address);
  const code = error.code ?? '';
  if (LOCAL_RESOURCE_CODES.has(code))
    return new ExchangeFailure('local_resource', `cannot open a connection to ${where}: ${code}`, true);
  switch (code) {
    case 'ECONNREFUSED':
      return new ExchangeFailure('connection_refused', `connection refused by ${where}`);
    case 'ECONNRESET':
      return new ExchangeFailure('connection_reset', `connection reset by ${where}`);
    case 'ETIMEDOUT':
      return new ExchangeFailure('timeout', `no answer from ${where} while connecting`);
    case 'ENETUNREACH':
      // Without an IPv4 route our own network is down. Many hosts never had an IPv6 route.
      return new ExchangeFailure('unreachable', `no route to ${where}`, !address.includes(':'));
    case 'EHOSTUNREACH':
      return new ExchangeFailure('unreachable', `host unreachable: ${where}`);
    default:
      return new ExchangeFailure('unreachable', `cannot connect to ${where}: ${code || error.message}`);
  }
}

/** `name:port (address)`, or the address alone if the URL has it. */
export function whereOf(peer: Peer, address: string | null): string {
  const named = hostPort(peer.host, peer.port);
  return address === null || address === peer.host ? named : `${named} (${address})`;
}

interface TlsError extends NodeJS.ErrnoException {
  cert?: ReturnType<TLSSocket['getPeerCertificate']>;
  reason?: string;
}

export function tlsFailure(error: TlsError, peer: Peer): ExchangeFailure {
  return new ExchangeFailure('tls_failed', tlsText(error, peer));
}

export function isTlsError(error: NodeJS.ErrnoException): boolean {
  const code = error.code ?? '';
  return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code === 'EPROTO';
}

function tlsText(error: TlsError, peer: Peer): string {
  const where = hostPort(peer.host, peer.port);
  switch (error.code ?? '') {
    case 'CERT_HAS_EXPIRED':
      return `certificate has expired (${peer.host})`;
    case 'CERT_NOT_YET_VALID':
      return `certificate is not valid yet (${peer.host})`;
    case 'CERT_REVOKED':
      return `certificate has been revoked (${peer.host})`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `certificate is for ${certificateNames(error)}, not ${peer.host}`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return `certificate is self-signed (${peer.host})`;
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return `certificate is not issued by an authority we trust (${peer.host})`;
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return `${where} does not speak TLS`;
    case 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION':
    case 'ERR_SSL_UNSUPPORTED_PROTOCOL':
      return `${where} does not offer TLS 1.2 or newer`;
    case 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED':
      return `${where} requires a client certificate`;
    case 'ECONNRESET':
    case 'EPIPE':
      return `${where} closed the connection during the TLS handshake`;
    default:
      return `TLS with ${where} failed: ${error.reason ?? error.code ?? 'unknown reason'}`;
  }
}

function certificateNames(error: TlsError): string {
  const names = (error.cert?.subjectaltname ?? '')
    .split(', ')
    .map((entry) => entry.replace(/^(DNS|IP Address):/, ''))
    .filter((name) => name !== '');
  const commonName = error.cert?.subject?.CN;
  if (names.length === 0 && typeof commonName === 'string') names.push(commonName);
  if (names.length === 0) return 'another host';
  return names.length > 3 ? `${names.slice(0, 3).join(', ')} and others` : names.join(', ');
}

/** An error after connecting: while sending, or while waiting for or reading the response. */
export function exchangeFailure(
  error: NodeJS.ErrnoException,
  peer: Peer,
  address: string | null,
  answerBegan: boolean,
): ExchangeFailure {
  if (error instanceof ExchangeFailure) return error;
  const where = whereOf(peer, address);
  const code = error.code ?? '';
  const invalid = (text: string): ExchangeFailure =>
    new ExchangeFailure('invalid_response', `${where} ${text}`);
  // The parser also reports a response that ends too early. That is a closed connection.
  if (error.name === 'HTTPParserError' && !error.message.includes('EOF'))
    return invalid('did not answer in HTTP');
  if (isTlsError(error)) return tlsFailure(error, peer);
  switch (code) {
    case 'UND_ERR_INVALID_ARG':
    case 'UND_ERR_NOT_SUPPORTED':
    case 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH':
      return new ExchangeFailure('invalid_request', `the request cannot be sent: ${error.message}`);
    case 'UND_ERR_HEADERS_OVERFLOW':
      return invalid('answered with more than 16 KiB of headers');
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return new ExchangeFailure('aborted', 'the HTTP client was closed', true);
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      if (!answerBegan) return invalid('did not answer in HTTP');
      break;
    case 'UND_ERR_SOCKET':
      if (error.message === 'bad response' || error.message === 'bad upgrade')
        return invalid('sent an answer that does not fit the request');
      break;
    default:
      break;
  }
  const verb = code === 'ECONNRESET' || code === 'EPIPE' ? 'reset' : 'closed';
  const when = answerBegan ? 'in the middle of its answer' : 'before answering';
  return new ExchangeFailure('connection_reset', `${where} ${verb} the connection ${when}`);
}

/** A kept-alive connection closed before the first byte of a response. */
export function droppedFailure(peer: Peer, address: string | null): ExchangeFailure {
  const text = `${whereOf(peer, address)} closed a connection kept from an earlier request before answering`;
  return new ExchangeFailure('connection_reset', text);
}

export type TimeoutStage = 'waiting' | 'dns' | 'connect' | 'proxy' | 'tls' | 'open' | 'answer' | 'body';

/** The timer struck. The text says how far the exchange was. */
export function timeoutFailure(
  stage: TimeoutStage,
  timeoutMs: number,
  peer: Peer,
  address: string | null,
): ExchangeFailure {
  const limit = `within ${timeoutMs} ms`;
  const where = whereOf(peer, address);
  switch (stage) {
    case 'waiting':
      return new ExchangeFailure('local_resource', `no connection to ${where} became free ${limit}`, true);
    case 'dns':
      return new ExchangeFailure('timeout', `the name ${peer.host} was not resolved ${limit}`);
    case 'proxy':
      return new ExchangeFailure('timeout', `the proxy did not connect to ${where} ${limit}`);
    case 'tls':
      return new ExchangeFailure('timeout', `${where} did not finish the TLS handshake ${limit}`);
    case 'answer':
      return new ExchangeFailure('timeout', `${where} did not answer ${limit}`);
    case 'body':
      return new ExchangeFailure('response_too_slow', `${where} did not finish its answer ${limit}`);
    case 'connect':
    case 'open':
      break;
  }
  return new ExchangeFailure('timeout', `no connection to ${where} ${limit}`);
}
