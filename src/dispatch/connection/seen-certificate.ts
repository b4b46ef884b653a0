import type { X509Certificate } from 'node:crypto';
import type { SeenCertificate } from '../../domain/certificate.ts';

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
