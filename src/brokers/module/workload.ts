import type { WorkloadKind } from '../../domain/config/workload.ts';

/** Credentials of the machine. They are asked for when they are needed, and again before they end. */
export interface Workload {
  /** @throws WorkloadError */
  aws(): Promise<AccessKey>;
  /** @throws WorkloadError */
  googleToken(): Promise<string>;
  /** The server of a service, where the operator names one. Empty: that of the cloud. */
  endpoint(kind: WorkloadKind): string;
}

export interface AccessKey {
  id: string;
  secret: string;
  /** Null: the key is not for a session. */
  token: string | null;
  /** Null: it does not end. */
  expiresAtMs: number | null;
}
