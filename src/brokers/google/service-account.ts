import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { BrokerError } from '../module/broker-error.ts';

/**
 * A service account, from its key file. It proves itself with tokens that it signs for the service itself, so no other
 * server is asked for tokens. Files of other types name servers, files and programs to get tokens from, and files of
 * this type a server too: none of that is looked at, because the owner of a source could choose it.
 */
const AUDIENCE = 'https://pubsub.googleapis.com/';
const TOKEN_S = 3_600;
const RENEW_BEFORE_S = 600;
const UNFIT = { code: 'sign_in_refused' } as const;

export class ServiceAccount {
  readonly #email: string;
  readonly #keyId: string;
  readonly #key: KeyObject;
  #token = { text: '', expiresAt: 0 };

  private constructor(email: string, keyId: string, key: KeyObject) {
    this.#email = email;
    this.#keyId = keyId;
    this.#key = key;
  }

  /** @throws BrokerError where it is no key file */
  static read(base64: string): ServiceAccount {
    const file = parse(Buffer.from(base64, 'base64').toString());
    if (file === null)
      throw new BrokerError('The service account is not a key file: it is not a JSON object.', UNFIT);
    const { type, client_email: email, private_key: key, private_key_id: keyId } = file;
    if (type !== 'service_account')
      throw new BrokerError('The service account is not a key file of the type service_account.', UNFIT);
    if (typeof email !== 'string' || typeof key !== 'string')
      throw new BrokerError('The service account has no client_email or no private_key.', UNFIT);
    try {
      return new ServiceAccount(email, typeof keyId === 'string' ? keyId : '', createPrivateKey(key));
    } catch (error) {
      throw new BrokerError('The private_key of the service account cannot be read.', {
        ...UNFIT,
        cause: error,
      });
    }
  }

  token(nowMs = Date.now()): string {
    const now = Math.floor(nowMs / 1000);
    if (now > this.#token.expiresAt - RENEW_BEFORE_S) {
      const expiresAt = now + TOKEN_S;
      const header = { alg: 'RS256', typ: 'JWT', kid: this.#keyId };
      const claims = { iss: this.#email, sub: this.#email, aud: AUDIENCE, iat: now, exp: expiresAt };
      const signed = `${encode(header)}.${encode(claims)}`;
      const signature = sign('RSA-SHA256', Buffer.from(signed), this.#key).toString('base64url');
      this.#token = { text: `${signed}.${signature}`, expiresAt };
    }
    return this.#token.text;
  }
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
