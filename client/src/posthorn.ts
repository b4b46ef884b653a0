import { PortalResources, ProjectResources } from './generated/resources.ts';
import { ManyEvents } from './many-events.ts';
import { Caller, type CallOptions, type ClientOptions } from './request.ts';
import { path, Scope } from './resource.ts';
import type { StreamMessage } from './stream.ts';
import { WaitedJobs } from './waited-jobs.ts';

export { type ClientErrorCode, type FieldProblem, PosthornError } from './errors.ts';
export type { DatabaseFault, ErrorCode } from './generated/error-codes.ts';
export type * from './generated/resources.ts';
export type * from './generated/types.ts';
export type { List, Page } from './list.ts';
export type { ManyEvents, SendManyOptions } from './many-events.ts';
export { type PublicKeysOptions, publicKeys } from './public-keys.ts';
export type { CallOptions, ClientOptions } from './request.ts';
export { type SendAllOptions, type Sent, sendAll } from './send-all.ts';
export type { StreamedDelivery, StreamedEvent, StreamMessage } from './stream.ts';
export {
  type VerifyOptions,
  verifyWebhook,
  type Webhook,
  WebhookError,
  type WebhookInput,
  type WebhookProblem,
} from './verify-webhook.ts';
export type { JobWaitOptions, WaitedJobs } from './waited-jobs.ts';

export interface PosthornOptions extends ClientOptions {
  /** A key of the project, or the instance key. Without one, a page of the server uses the session of its reader. */
  key?: string;
  /** The id of the project. Only the calls of `projects` and `audit.listInstance` work without one. */
  project?: string;
}

/** The API with a key. */
export class Posthorn extends ProjectResources {
  override readonly events: ManyEvents;
  override readonly jobs: WaitedJobs;
  readonly #options: PosthornOptions;
  readonly #scope: Scope;

  constructor(options: PosthornOptions) {
    const { project } = options;
    const base = project === undefined ? undefined : path`/api/v1/projects/${project}`;
    const scope = new Scope(new Caller(options.key, options), base);
    super(scope);
    this.events = new ManyEvents(scope);
    this.jobs = new WaitedJobs(scope);
    this.#scope = scope;
    this.#options = options;
  }

  /** New events and deliveries of the project, as they happen, until the signal ends it. */
  stream({ signal }: { signal: AbortSignal }): AsyncGenerator<StreamMessage> {
    return this.#scope.stream(this.#scope.at`/stream`, signal);
  }

  /** The version of the project's config. Read it before what you change, and give it to the change as `configVersion`. */
  configVersion(options?: CallOptions): Promise<number> {
    return this.#scope.configVersion(this.#scope.at``, options);
  }

  /** A client for another project, with the same settings. The instance key works in every project. */
  inProject(project: string): Posthorn {
    return new Posthorn({ ...this.#options, project });
  }
}

export interface PosthornPortalOptions extends ClientOptions {
  /** The token of a portal link. */
  token: string;
}

/** The API with a portal link: the part of a project that one customer may see. */
export class PosthornPortal extends PortalResources {
  override readonly jobs: Pick<WaitedJobs, 'get' | 'wait'>;
  readonly #scope: Scope;

  constructor(options: PosthornPortalOptions) {
    const scope = new Scope(new Caller(options.token, options), '/portal-api');
    super(scope);
    this.jobs = new WaitedJobs(scope);
    this.#scope = scope;
  }

  /** The version of the project's config. Read it before what you change, and give it to the change as `configVersion`. */
  configVersion(options?: CallOptions): Promise<number> {
    return this.#scope.configVersion(this.#scope.at`/portal_link`, options);
  }

  /** New events and deliveries for the customer's endpoints, as they happen, until the signal ends it. */
  stream({ signal }: { signal: AbortSignal }): AsyncGenerator<StreamMessage> {
    return this.#scope.stream(this.#scope.at`/stream`, signal);
  }
}
