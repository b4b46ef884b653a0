import { createPrivateKey, hash, X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { SeenCertificate } from '../../domain/certificate.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { ExchangeFailure } from './outcome.ts';

/**
 * One TLS context for all endpoints, and one per client certificate. A context with its own authority costs
 * some 10 ms to create (it has every root), so at most 1,000 are cached.
 */

export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

const MAX_CONTEXTS = 1_000;

export class TlsSettings {
  readonly #authorities: string[] | undefined;
  readonly #contexts = new BoundedMap<string, Credentials>(MAX_CONTEXTS);

  constructor(caPem?: string) {
    // `ca` replaces the roots, so ours is added to Node's defaults.
    this.#authorities = caPem === undefined ? undefined : [...getCACertificates('default'), caPem];
  }

  /** Identifies the context. Only requests with the same context share connections. */
  static fingerprint(certificate: ClientCertificate | undefined): string {
    return certificate === undefined ? '' : hash('sha256', `${certificate.cert}\0${certificate.key}`);
  }

  /** @throws ExchangeFailure when the client certificate cannot be used */
  credentials(certificate: ClientCertificate | undefined): Credentials {
    const name = TlsSettings.fingerprint(certificate);
    let known = this.#contexts.get(name);
    if (known === undefined) {
      known = this.#make(certificate);
      this.#contexts.set(name, known);
    }
    const now = Date.now();
    if (known.client !== null && known.client.expiresAtMs < now)
      throw invalid(`expired on ${new Date(known.client.expiresAtMs).toISOString()}`);
    if (known.validFrom > now)
      throw invalid(`is not valid before ${new Date(known.validFrom).toISOString()}`);
    return known;
  }

  #make(certificate: ClientCertificate | undefined): Credentials {
    const shared = { minVersion: 'TLSv1.2', ...(this.#authorities && { ca: this.#authorities }) } as const;
    if (certificate === undefined)
      return { context: createSecureContext(shared), validFrom: 0, client: null };
    const { cert, key } = certificate;
    let parsed: X509Certificate;
    let belongs: boolean;
    try {
      parsed = new X509Certificate(cert);
      belongs = parsed.checkPrivateKey(createPrivateKey(key));
    } catch {
      throw invalid('or its key cannot be read');
    }
    if (!belongs) throw invalid('does not belong to its key');
    return {
      context: createSecureContext({ ...shared, cert, key }),
      validFrom: parsed.validFromDate.getTime(),
      client: seenCertificate(parsed),
    };
  }
}

interface Credentials {
  readonly context: SecureContext;
  readonly validFrom: number;
  /** The certificate we present. */
  readonly client: SeenCertificate | null;
}

const MAX_SUBJECT_CHARS = 200;

/** The stored fields of a certificate. Computed once per connection: hashing and formatting cost some 20 µs. */
export function seenCertificate(certificate: X509Certificate): SeenCertificate {
  return {
    fingerprint: certificate.fingerprint256,
    subject: (certificate.subject ?? '')
      .slice(0, MAX_SUBJECT_CHARS)
      .trim()
      .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ', '),
    expiresAtMs: certificate.validToDate.getTime(),
  };
}

function invalid(text: string): ExchangeFailure {
  return new ExchangeFailure('client_certificate_invalid', `the client certificate ${text}`);
}
