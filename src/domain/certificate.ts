/** A certificate of a connection. */
export interface SeenCertificate {
  /** SHA-256, as hex pairs with colons. */
  fingerprint: string;
  /** Untrusted text, as one line. */
  subject: string;
  expiresAtMs: number;
}

/** The endpoint's certificate, and our client certificate. */
export interface SeenCertificates {
  server: SeenCertificate | null;
  client: SeenCertificate | null;
}

export type CertificateSide = keyof SeenCertificates;
