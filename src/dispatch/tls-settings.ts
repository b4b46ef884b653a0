import { createPrivateKey, hash, X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { ExchangeFailure } from './outcome.ts';

/**
 * One TLS context for all endpoints, and one per client certificate. A context with an own authority costs some
 * 10 ms to make (it holds every root), so they are kept, at most 1,000 of them.
 */

export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

const MAX_CONTEXTS = 1_000;

export class TlsSettings {
  readonly #authorities: string[] | undefined;
  readonly #contexts = new Map<string, SecureContext>();

  constructor(caPem?: string) {
    // `ca` replaces the roots, so ours is added to the ones Node would have used.
    this.#authorities = caPem === undefined ? undefined : [...getCACertificates('default'), caPem];
  }

  /** Names the context; connections are shared only between requests with the same one. */
  static fingerprint(certificate: ClientCertificate | undefined): string {
    return certificate === undefined ? '' : hash('sha256', `${certificate.cert}\0${certificate.key}`);
  }

  /** @throws ExchangeFailure when the client certificate cannot be used */
  context(certificate: ClientCertificate | undefined): SecureContext {
    const name = TlsSettings.fingerprint(certificate);
    if (certificate !== undefined) checkCertificate(certificate);
    const known = this.#contexts.get(name);
    if (known !== undefined) return known;
    const context = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(this.#authorities && { ca: this.#authorities }),
      ...(certificate && { cert: certificate.cert, key: certificate.key }),
    });
    this.#contexts.set(name, context);
    if (this.#contexts.size > MAX_CONTEXTS) this.#contexts.delete(this.#contexts.keys().next().value!);
    return context;
  }
}

function checkCertificate(certificate: ClientCertificate): void {
  const invalid = (text: string): ExchangeFailure =>
    new ExchangeFailure('client_certificate_invalid', `the client certificate ${text}`);
  let parsed: X509Certificate;
  let matches: boolean;
  try {
    parsed = new X509Certificate(certificate.cert);
    matches = parsed.checkPrivateKey(createPrivateKey(certificate.key));
  } catch {
    throw invalid('or its key cannot be read');
  }
  if (!matches) throw invalid('does not belong to its key');
  const now = new Date();
  if (parsed.validToDate < now) throw invalid(`expired on ${parsed.validToDate.toISOString()}`);
  if (parsed.validFromDate > now) throw invalid(`is not valid before ${parsed.validFromDate.toISOString()}`);
}
