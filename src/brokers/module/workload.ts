import { isOfCloud, NOT_OF_CLOUD, type WorkloadKind } from '../../domain/config/workload.ts';
import { BrokerError } from './broker-error.ts';

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

/** The machine has no credentials for us now. The fault is not that of the endpoint. */
export class WorkloadError extends BrokerError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { code: 'sign_in_refused', ...options });
  }
}

interface Settings {
  endpoint: string;
  credentials?: 'workload';
}

/** Where the settings lead to. The machine's credentials never go to a server that the owner of the settings chose. */
export function endpointOf(kind: WorkloadKind, settings: Settings, workload: Workload): string {
  const { endpoint, credentials } = settings;
  if (credentials !== 'workload') return endpoint;
  if (endpoint === '') return workload.endpoint(kind);
  if (!isOfCloud(kind, endpoint)) throw new BrokerError(`The endpoint ${NOT_OF_CLOUD}.`);
  return endpoint;
}

/** The key that signs requests to Amazon. */
export async function accessKeyOf(
  {
    credentials,
    access_key_id: id,
    secret_key: secret,
  }: Settings & { access_key_id: string; secret_key: string },
  workload: Workload,
): Promise<AccessKey> {
  return credentials === 'workload' ? workload.aws() : { id, secret, token: null, expiresAtMs: null };
}
