/** A certificate that a connection was made with. */
export interface SeenCertificate {
  /** SHA-256, as hex pairs with colons. */
  fingerprint: string;
  /** Foreign text, as one line. */
  subject: string;
  expiresAtMs: number;
}

/** The endpoint's own, and the one that we showed it. */
export interface SeenCertificates {
  server: SeenCertificate | null;
  client: SeenCertificate | null;
}

export type CertificateSide = keyof SeenCertificates;
