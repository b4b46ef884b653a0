// Signature headers of one outgoing request.
//
// A signer is compiled when an endpoint's configuration changes and then used for every delivery. Names are
// resolved and secrets imported once. Each delivery costs one HMAC per scheme, version and live secret, over
// the body as it is sent (never copied).
//
// A secret signs while `nowMs` is before its `expiresAt`. At that instant it no longer signs. An empty secret
// never signs, because anyone could forge its signature. A scheme without a live secret sends no headers.
import { createHmac, createSecretKey, type KeyObject, sign } from 'node:crypto';
import { digestName, isSignatureHash } from '../domain/config/signature-hash.ts';
import { standardWebhooksKey } from './signing-secrets.ts';

export interface SigningSecret {
  value: string;
  /** Milliseconds since the epoch, null for a secret that does not expire. */
  expiresAt: number | null;
}

export interface SignatureVersion {
  hash: string;
  encoding: 'hex' | 'base64';
}

export interface SigningConfig {
  schemes: readonly ('convoy' | 'standard')[];
  /** Header of the Convoy scheme. */
  header: string;
  versions: readonly SignatureVersion[];
  advanced: boolean;
  /** Oldest first. */
  secrets: readonly SigningSecret[];
  /** Adds a `v1a` signature to the Standard Webhooks scheme. */
  ed25519?: { privateKey: KeyObject };
  /** Each adds another one, until it expires. Oldest first. */
  projectKeys?: readonly { privateKey: KeyObject; expiresAt: number | null }[];
}

export interface SigningInput {
  id: string;
  timestampSeconds: number;
  nowMs: number;
  body: Buffer;
}

export interface Signer {
  headers(input: SigningInput): [string, string][];
}

interface ExpiringKey {
  key: KeyObject;
  /** Infinity for a secret that does not expire, so that one comparison decides whether it is live. */
  expiresAt: number;
}

type AddHeaders = (input: SigningInput, headers: [string, string][]) => void;

type Hmac = (key: KeyObject, prefix: string, body: Buffer) => string;

/** Throws on a hash name outside `signatureHashes` or an empty version list: both are refused on write. */
export function compileSigner(config: SigningConfig): Signer {
  const schemes: AddHeaders[] = [];
  if (config.schemes.includes('convoy')) {
    schemes.push(config.advanced ? convoyAdvanced(config) : convoySimple(config));
  }
  if (config.schemes.includes('standard')) schemes.push(standardWebhooks(config));
  return {
    headers(input) {
      const headers: [string, string][] = [];
      for (const addHeaders of schemes) addHeaders(input, headers);
      return headers;
    },
  };
}

function convoySimple({ header, versions, secrets }: SigningConfig): AddHeaders {
  const hmac = compileVersions(versions).at(-1)!;
  const keys = compileKeys(secrets, utf8Key);
  return ({ nowMs, body }, headers) => {
    const newest = keys.findLast(({ expiresAt }) => nowMs < expiresAt);
    if (newest !== undefined) headers.push([header, hmac(newest.key, '', body)]);
  };
}

function convoyAdvanced({ header, versions, secrets }: SigningConfig): AddHeaders {
  const hmacs = compileVersions(versions);
  const keys = compileKeys(secrets, utf8Key);
  return ({ timestampSeconds, nowMs, body }, headers) => {
    const signedPrefix = `${timestampSeconds},`;
    let signatures = '';
    for (const [index, hmac] of hmacs.entries()) {
      for (const { key, expiresAt } of keys) {
        if (nowMs < expiresAt) signatures += `,v${index + 1}=${hmac(key, signedPrefix, body)}`;
      }
    }
    if (signatures !== '') headers.push([header, `t=${timestampSeconds}${signatures}`]);
  };
}

function standardWebhooks({ secrets, ed25519, projectKeys = [] }: SigningConfig): AddHeaders {
  const hmac = compileHmac({ hash: 'SHA256', encoding: 'base64' });
  const keys = compileKeys(secrets, standardWebhooksKey);
  const pairs = [...(ed25519 === undefined ? [] : [{ ...ed25519, expiresAt: null }]), ...projectKeys];
  return ({ id, timestampSeconds, nowMs, body }, headers) => {
    const signedPrefix = `${id}.${timestampSeconds}.`;
    const signatures: string[] = [];
    for (const { key, expiresAt } of keys) {
      if (nowMs < expiresAt) signatures.push(`v1,${hmac(key, signedPrefix, body)}`);
    }
    const live = pairs.filter(({ expiresAt }) => expiresAt === null || nowMs < expiresAt);
    if (live.length > 0) {
      // Ed25519 reads its message twice, so there is no incremental form and this copy is needed.
      const message = Buffer.concat([Buffer.from(signedPrefix, 'utf8'), body]);
      for (const { privateKey } of live)
        signatures.push(`v1a,${sign(null, message, privateKey).toString('base64')}`);
    }
    if (signatures.length === 0) return;
    headers.push(
      ['webhook-id', id],
      ['webhook-timestamp', String(timestampSeconds)],
      ['webhook-signature', signatures.join(' ')],
    );
  };
}

function compileVersions(versions: readonly SignatureVersion[]): Hmac[] {
  if (versions.length === 0) throw new Error('a signature needs at least one version');
  return versions.map(compileHmac);
}

function compileHmac({ hash, encoding }: SignatureVersion): Hmac {
  if (!isSignatureHash(hash)) throw new Error(`unknown signature hash ${JSON.stringify(hash)}`);
  const digest = digestName(hash);
  return (key, prefix, body) => createHmac(digest, key).update(prefix).update(body).digest(encoding);
}

function compileKeys(secrets: readonly SigningSecret[], keyBytes: (secret: string) => Buffer): ExpiringKey[] {
  return secrets
    .filter(({ value }) => value !== '')
    .map(({ value, expiresAt }) => ({
      key: createSecretKey(keyBytes(value)),
      expiresAt: expiresAt ?? Number.POSITIVE_INFINITY,
    }));
}

function utf8Key(secret: string): Buffer {
  return Buffer.from(secret, 'utf8');
}
