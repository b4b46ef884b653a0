/** A key pair of a project, whose public half anyone can read. It signs each delivery until it expires. */
export interface ProjectKey {
  /** The thumbprint of the public key (RFC 7638), by which receivers name it. */
  kid: string;
  /** PEM of the ed25519 private key. */
  private_key: string;
  /** `whpk_` and the base64 of its 32 bytes. */
  public_key: string;
  created_at: string;
  /** Null: it does not end. */
  expires_at: string | null;
}

/** Keys that sign at the same time. Each costs a signature per delivery. */
export const MAX_PROJECT_KEYS = 3;

/** The fields that anyone may see. */
export const publicPart = ({ kid, public_key, created_at, expires_at }: ProjectKey) => ({
  kid,
  public_key,
  created_at,
  expires_at,
});

export const isLiveKey = ({ expires_at }: Pick<ProjectKey, 'expires_at'>, nowMs: number): boolean =>
  expires_at === null || Date.parse(expires_at) > nowMs;
