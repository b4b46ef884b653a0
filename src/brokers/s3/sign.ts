import { createHash, createHmac } from 'node:crypto';
import type { AccessKey } from '../module/workload.ts';

/** A request before it has signature version 4 of Amazon, which is over all its headers. */
export interface Unsigned {
  method: string;
  /** Encoded as it is sent. It has no query. */
  path: string;
  /** Names in lower case, `host` among them. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

export const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** The headers of the request, with the signature. */
export function signed(
  { method, path, headers, body }: Unsigned,
  key: Omit<AccessKey, 'expiresAtMs'>,
  { region, service, atMs }: { region: string; service: string; atMs: number },
): Record<string, string> {
  const time = new Date(atMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const date = time.slice(0, 8);
  const bodyHash = sha256(body).toString('hex');
  const all: Record<string, string> = {
    ...headers,
    'x-amz-content-sha256': bodyHash,
    'x-amz-date': time,
    ...(key.token !== null && { 'x-amz-security-token': key.token }),
  };
  const names = Object.keys(all).toSorted();
  const lines = names.map((name) => `${name}:${all[name]?.trim().replaceAll(/ +/g, ' ')}\n`).join('');
  const canonical = [method, path, '', lines, names.join(';'), bodyHash].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical).toString('hex')].join('\n');
  const signingKey = [region, service, 'aws4_request'].reduce(hmac, hmac(`AWS4${key.secret}`, date));
  const authorization = [
    `AWS4-HMAC-SHA256 Credential=${key.id}/${scope}`,
    `SignedHeaders=${names.join(';')}`,
    `Signature=${hmac(signingKey, text).toString('hex')}`,
  ].join(', ');
  return { ...all, authorization };
}

/** Part of a path as Amazon encodes it: all but letters, digits and four marks. Slashes stay. */
export const encodePath = (path: string): string =>
  encodeURIComponent(path.toWellFormed())
    .replaceAll('%2F', '/')
    .replaceAll(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
