import type { SecureContext } from 'node:tls';
import { CLOUD_OF, type Cloud, type WorkloadKind } from '../domain/config/workload.ts';
import { type AccessKey, type Workload, WorkloadError } from './module/workload.ts';

/**
 * The credentials of this machine, for endpoints and sources that ask for them, at the clouds that the operator allows. The
 * code that asks for them is loaded when it is first needed.
 */
interface WorkloadOptions {
  allowed: readonly Cloud[];
  /** The variables of the clouds in the environment of this process. */
  env: Readonly<Record<string, string>>;
  secureContext(): SecureContext;
}

type Credentials = Pick<Workload, 'aws' | 'googleToken'>;

/** They have effect only together with these credentials. */
const ENDPOINTS: Record<WorkloadKind, readonly string[]> = {
  sqs: ['AWS_ENDPOINT_URL_SQS', 'AWS_ENDPOINT_URL'],
  s3: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
  google: ['CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB'],
};

export class MachineWorkload implements Workload {
  readonly #options: WorkloadOptions;
  #loading: Promise<Credentials> | null = null;

  constructor(options: WorkloadOptions) {
    this.#options = options;
  }

  async aws(): Promise<AccessKey> {
    return (await this.#credentials('aws')).aws();
  }

  async googleToken(): Promise<string> {
    return (await this.#credentials('google')).googleToken();
  }

  endpoint(kind: WorkloadKind): string {
    const { env, allowed } = this.#options;
    if (!allowed.includes(CLOUD_OF[kind])) return '';
    return ENDPOINTS[kind].map((name) => env[name]).find((url) => url !== undefined) ?? '';
  }

  #credentials(cloud: Cloud): Promise<Credentials> {
    if (!this.#options.allowed.includes(cloud))
      throw new WorkloadError(
        `The credentials of this machine may not be used: POSTHORN_WORKLOAD_CREDENTIALS does not have ${cloud}.`,
      );
    this.#loading ??= import('./workload/workload-credentials.ts').then(
      ({ WorkloadCredentials }) => new WorkloadCredentials(this.#options),
    );
    return this.#loading;
  }
}
