import type { GoogleSettings } from '../../domain/config/source.ts';
import type { NetworkContext } from '../module/broker-module.ts';
import { GoogleCalls } from './google-calls.ts';

type Method = 'pull' | 'acknowledge' | 'modifyAckDeadline' | 'getSubscription';

/** The calls to one subscription. */
export class Subscription {
  readonly name: string;
  readonly #calls: GoogleCalls<Method>;

  private constructor(calls: GoogleCalls<Method>, name: string) {
    this.name = name;
    this.#calls = calls;
  }

  static async connect(settings: GoogleSettings, context: NetworkContext): Promise<Subscription> {
    const { project_id: project, subscription_id: subscription } = settings;
    const name = `projects/${project}/subscriptions/${subscription}`;
    const target = `subscription=${encodeURIComponent(name)}`;
    return new Subscription(
      await GoogleCalls.connect('SubscriberClient', { settings, target }, context),
      name,
    );
  }

  call<Answer>(
    method: Method,
    request: object,
    limits: { timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<Answer> {
    return this.#calls.call(method, { subscription: this.name, ...request }, limits);
  }

  close(): void {
    this.#calls.close();
  }
}
