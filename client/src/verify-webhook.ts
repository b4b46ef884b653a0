/*
 * Checks that a webhook was sent by Posthorn, unchanged and recently.
 *
 *   headers -> the first accepted scheme whose header is there -> time within the window -> any signature of
 *   the header made with any of the secrets
 *
 * The comparison is that of Web Crypto's `verify`, which takes constant time. Every other scheme of the
 * request is ignored, so a missing header cannot lead to a weaker check: the Convoy scheme without a time is
 * checked only if `schemes` names it.
 */
import { base64Bytes, hexBytes, joinedBytes, readBytes, utf8Bytes } from './bytes.ts';

/** A fetch `Request`, or the headers and the unparsed body of another framework's request. */
export type WebhookInput =
  | Request
  | {
      headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
      body: string | Uint8Array | ArrayBuffer;
    };

export interface VerifyOptions {
  /**
   * The accepted schemes; `['standard', 'convoy']` by default. `convoy-simple` has no time in its signature,
   * so a recorded request can be sent again at any time.
   */
  schemes?: readonly ('standard' | 'convoy' | 'convoy-simple')[];
  /** Seconds between the time of the request and now, in either direction; 300 by default. */
  tolerance?: number;
  /** The current time in milliseconds. */
  now?: number;
  /** The project's `signature.header`; `X-Convoy-Signature` by default. */
  convoyHeader?: string;
  /** One hash of the project's `signature.versions`; SHA256 by default. */
  convoyHash?: 'SHA1' | 'SHA256' | 'SHA384' | 'SHA512';
  /** The encoding that belongs to it; hex by default. */
  convoyEncoding?: 'hex' | 'base64';
  /** The largest body of a `Request` that is read, in bytes; 10 MiB by default. */
  maxBytes?: number;
}

/** A verified webhook. */
export interface Webhook {
  scheme: 'standard' | 'convoy' | 'convoy-simple';
  /** All attempts of a delivery have the same id. Undefined in the Convoy schemes. */
  id: string | undefined;
  /** When this attempt was signed. Undefined in the simple Convoy scheme. */
  time: Date | undefined;
  body: Uint8Array<ArrayBuffer>;
  text(): string;
  json(): unknown;
}

export type WebhookProblem = 'no_signature' | 'bad_time' | 'wrong_signature' | 'bad_secret' | 'too_large';

/** The webhook is refused. Answer 400 or 401, and do not say which part failed. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  readonly problem: WebhookProblem;

  constructor(problem: WebhookProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

interface Signed {
  scheme: Webhook['scheme'];
  id?: string;
  /** Seconds since the epoch. */
  timestamp?: string;
  /** The bytes that are signed before the body. */
  prefix: string;
  signatures: Signature[];
}

interface Signature {
  algorithm: 'HMAC' | 'Ed25519';
  bytes: Uint8Array<ArrayBuffer> | undefined;
}

/** A request cannot cause more checks than this for each secret. A roll of secrets needs two. */
const MOST_SIGNATURES = 20;
const HASHES = { SHA1: 'SHA-1', SHA256: 'SHA-256', SHA384: 'SHA-384', SHA512: 'SHA-512' } as const;

/**
 * Resolves if one of the secrets signed the webhook, and otherwise rejects with a `WebhookError`. A secret is
 * the endpoint's secret, its `standard_webhooks_secret` (whsec_...) or its `signing_key.public_key`
 * (whpk_...). Give the old one and the new one during a roll.
 */
export async function verifyWebhook(
  input: WebhookInput,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): Promise<Webhook> {
  checkTypes(secrets);
  const given = [secrets].flat();
  const signed = readSignatures((name) => headerOf(input.headers, name), options);
  if (signed === undefined) throw new WebhookError('no_signature', 'The request has no known signature.');
  const time = timeOf(signed, options);
  const body = await readBytes(input, options.maxBytes ?? 10 * 2 ** 20);
  if (body === undefined) throw new WebhookError('too_large', 'The body is too large.');
  const message = joinedBytes([utf8Bytes(signed.prefix), body]);
  const hash = signed.scheme === 'standard' ? 'SHA256' : (options.convoyHash ?? 'SHA256');
  if (given.length === 0 || given.includes('')) throw new WebhookError('bad_secret', 'A secret is empty.');
  for (const secret of given) {
    const key = await importKey(secret, signed.scheme, HASHES[hash]);
    for (const { algorithm, bytes } of signed.signatures) {
      if (bytes === undefined || algorithm !== key.algorithm.name) continue;
      if (await crypto.subtle.verify(algorithm, key, bytes, message)) return verified(signed, time, body);
    }
  }
  throw new WebhookError('wrong_signature', 'No signature of the request was made with these secrets.');
}

/** A secret that is missing is a fault of this program, and not of the request. */
function checkTypes(secrets: unknown): void {
  const entries: [string, unknown][] = Array.isArray(secrets)
    ? secrets.map((secret, index) => [`secrets[${index}]`, secret])
    : [['secrets', secrets]];
  for (const [name, secret] of entries) {
    if (typeof secret === 'string') continue;
    const kind = secret === undefined || secret === null ? String(secret) : `a ${typeof secret}`;
    const advice = 'Check the setting or environment variable that it comes from.';
    throw new TypeError(`${name} is ${kind}, not a string. ${advice}`);
  }
}

function verified({ scheme, id }: Signed, time: Date | undefined, body: Uint8Array<ArrayBuffer>): Webhook {
  const text = () => new TextDecoder().decode(body);
  return { scheme, id, time, body, text, json: () => JSON.parse(text()) as unknown };
}

function readSignatures(header: (name: string) => string, options: VerifyOptions): Signed | undefined {
  const { schemes = ['standard', 'convoy'], convoyHeader = 'x-convoy-signature' } = options;
  const decode = options.convoyEncoding === 'base64' ? base64Bytes : hexBytes;
  const [id, timestamp, list] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(header);
  if (schemes.includes('standard') && id && timestamp && list) {
    const signatures = list.split(' ').map(standardSignature);
    return {
      scheme: 'standard',
      id,
      timestamp,
      prefix: `${id}.${timestamp}.`,
      signatures: bounded(signatures),
    };
  }
  const convoy = header(convoyHeader);
  if (schemes.includes('convoy') && convoy.startsWith('t=')) {
    const [first = '', ...rest] = convoy.split(',');
    const time = first.slice(2);
    const signatures = rest.map((part) => hmac(decode(part.replace(/^v\d+=/, ''))));
    return { scheme: 'convoy', timestamp: time, prefix: `${time},`, signatures: bounded(signatures) };
  }
  if (schemes.includes('convoy-simple') && convoy !== '')
    return { scheme: 'convoy-simple', prefix: '', signatures: [hmac(decode(convoy))] };
  return undefined;
}

const bounded = (signatures: Signature[]): Signature[] => signatures.slice(0, MOST_SIGNATURES);
const hmac = (bytes: Signature['bytes']): Signature => ({ algorithm: 'HMAC', bytes });

/** `v1,<base64>` is an HMAC, `v1a,<base64>` Ed25519. Other versions are ignored. */
function standardSignature(text: string): Signature {
  const [version, value = ''] = text.split(',');
  const isKnown = version === 'v1' || version === 'v1a';
  return {
    algorithm: version === 'v1a' ? 'Ed25519' : 'HMAC',
    bytes: isKnown ? base64Bytes(value) : undefined,
  };
}

function timeOf(
  { timestamp }: Signed,
  { tolerance = 300, now = Date.now() }: VerifyOptions,
): Date | undefined {
  if (timestamp === undefined) return undefined;
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  if (!(Math.abs(now / 1000 - seconds) <= tolerance))
    throw new WebhookError('bad_time', 'The time of the request is too far from now.');
  return new Date(seconds * 1000);
}

async function importKey(secret: string, scheme: Webhook['scheme'], hash: string): Promise<CryptoKey> {
  if (secret.startsWith('whpk_')) {
    const bytes = base64Bytes(secret.slice(5));
    if (bytes?.length !== 32) throw new WebhookError('bad_secret', 'whpk_ must be followed by 32 bytes.');
    return crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']);
  }
  const encoded =
    secret.startsWith('whsec_') && scheme === 'standard' ? base64Bytes(secret.slice(6)) : undefined;
  const bytes = encoded === undefined || encoded.length === 0 ? utf8Bytes(secret) : encoded;
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash }, false, ['verify']);
}

function headerOf(headers: WebhookInput['headers'], name: string): string {
  if (isHeaders(headers)) return headers.get(name) ?? '';
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase());
  const value = found?.[1];
  return typeof value === 'string' ? value : (value?.join(', ') ?? '');
}

/** True also of the Headers of another library or realm. */
function isHeaders(headers: WebhookInput['headers']): headers is Headers {
  return typeof headers['get' as keyof typeof headers] === 'function';
}
