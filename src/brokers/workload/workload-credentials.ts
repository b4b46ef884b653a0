import type { SecureContext } from 'node:tls';
import { type AccessKey, WorkloadError } from '../module/workload.ts';
import { askServer, type Question, ServerRefused } from './ask-server.ts';
import { awsCredentials } from './aws-credentials.ts';
import { type Lasting, Renewed } from './renewed.ts';

/** The credentials of this machine at the clouds, kept while they last. */
interface Place {
  /** The variables of the clouds in the environment of this process. */
  env: Readonly<Record<string, string>>;
  secureContext(): SecureContext;
}

const SCOPE = 'https://www.googleapis.com/auth/pubsub';
const GOOGLE_METADATA = '169.254.169.254';

export class WorkloadCredentials {
  readonly #aws: Renewed<AccessKey>;
  readonly #google: Renewed<string>;

  constructor({ env, secureContext }: Place) {
    const ask = (question: Question) => askServer(question, secureContext);
    this.#aws = new Renewed(() => awsCredentials(env, ask));
    this.#google = new Renewed(() => googleToken(env, ask));
  }

  aws(): Promise<AccessKey> {
    return had(this.#aws);
  }

  googleToken(): Promise<string> {
    return had(this.#google);
  }
}

async function had<T>(credentials: Renewed<T>): Promise<T> {
  try {
    return await credentials.get();
  } catch (error) {
    const reason = reasonOf(error);
    throw new WorkloadError(`The credentials of this machine cannot be had: ${reason}.`, { cause: error });
  }
}

async function googleToken(
  env: Place['env'],
  ask: (question: Question) => Promise<string>,
): Promise<Lasting<string>> {
  const host = env['GCE_METADATA_HOST'] ?? GOOGLE_METADATA;
  const path = `computeMetadata/v1/instance/service-accounts/default/token?scopes=${encodeURIComponent(SCOPE)}`;
  const text = await ask({ url: `http://${host}/${path}`, headers: { 'metadata-flavor': 'Google' } });
  const { access_token: value = '', expires_in: seconds = 0 } = JSON.parse(text) as {
    access_token?: string;
    expires_in?: number;
  };
  if (value === '') throw new Error('the answer has no token');
  return { value, expiresAtMs: Date.now() + seconds * 1000 };
}

/** In words that tell a tenant no more of the machine than it needs. */
function reasonOf(error: unknown): string {
  const { code, name, message } = error as Error & { code?: unknown };
  if (error instanceof ServerRefused) {
    const word = /<Code>(\w{1,64})<\/Code>/.exec(error.text)?.[1];
    return `their server answered ${word ?? `with status ${error.status}`}`;
  }
  if (name === 'AbortError' || name === 'TimeoutError') return 'their server does not answer';
  if (error instanceof SyntaxError) return 'their server did not answer with JSON';
  if (code === 'ENOENT' || code === 'EACCES') return 'the file of the token cannot be read';
  if (typeof code === 'string') return `their server cannot be reached (${code})`;
  return message;
}
