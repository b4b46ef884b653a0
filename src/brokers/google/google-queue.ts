import { setTimeout as sleep } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import type { Logger } from '../../platform/logger.ts';
import type { LeasedMessage, LeasedQueue } from '../module/leased-messages.ts';
import type { GoogleCalls } from './google-calls.ts';
import { isStatus } from './google-error.ts';

/**
 * A subscription of Google Pub/Sub. A lot is one pull, of as many messages as fit into LOT_BYTES by the size of those
 * before, and at most twice as many as were asked for before.
 *
 * The key of a message is its id and the time it was published. The id alone is unique in its topic only: a topic that
 * is created again, in an emulator too, may use it again.
 */
const LOT_BYTES = 1_048_576;
const FIRST_MESSAGES = 10;
const MAX_MESSAGES = 200;
const PULL_MS = 60_000;
const REQUEST_MS = 5_000;
/** The server may answer at once that there is nothing. */
const QUICK_MS = 250;
/** The shortest that a subscription can have. */
const FIRST_LEASE_MS = 10_000;

export type Subscription = GoogleCalls<'pull' | 'acknowledge' | 'modifyAckDeadline' | 'getSubscription'>;

interface PullAnswer {
  receivedMessages?: {
    ackId: string;
    message: {
      data: Uint8Array | string;
      attributes?: Record<string, string>;
      messageId: string;
      publishTime?: { seconds: string; nanos: number } | null;
    };
  }[];
}

export class GoogleQueue implements LeasedQueue {
  readonly part: LeasedQueue['part'];
  readonly firstLeaseMs = FIRST_LEASE_MS;
  readonly #subscription: Pick<Subscription, 'call'>;
  readonly #log: Logger;
  #most = FIRST_MESSAGES;

  constructor(subscription: Pick<Subscription, 'name' | 'call'>, keepMs: number, log: Logger) {
    this.part = { stream: subscription.name, order: { keepMs } };
    this.#subscription = subscription;
    this.#log = log;
  }

  async receive(waits: boolean, signal: AbortSignal): Promise<LeasedMessage[]> {
    const beganAt = performance.now();
    const request = { maxMessages: this.#most, returnImmediately: !waits };
    const messages = await this.#pull(request, signal);
    if (messages.length === 0) {
      if (waits && performance.now() - beganAt < QUICK_MS)
        await sleep(QUICK_MS, undefined, { signal }).catch(() => undefined);
      return [];
    }
    const bytes = messages.reduce((sum, { body }) => sum + body.length, 0);
    const fit = Math.floor(LOT_BYTES / Math.max(1, bytes / messages.length));
    this.#most = Math.max(1, Math.min(fit, this.#most * 2, MAX_MESSAGES));
    return messages;
  }

  async acknowledge(receipts: readonly string[]): Promise<void> {
    try {
      await this.#subscription.call('acknowledge', { ackIds: receipts }, { timeoutMs: REQUEST_MS });
    } catch (error) {
      // A subscription with exactly-once delivery refuses leases that have ended. Its messages come again, as repeats.
      if (!isStatus(error, status.INVALID_ARGUMENT, status.FAILED_PRECONDITION)) throw error;
      this.#log.debug({ err: error }, 'Pub/Sub: messages could not be acknowledged');
    }
  }

  async lease(receipts: readonly string[], ms: number): Promise<readonly string[]> {
    const request = { ackIds: receipts, ackDeadlineSeconds: ms / 1000 };
    await this.#subscription.call('modifyAckDeadline', request, { timeoutMs: REQUEST_MS });
    return [];
  }

  async #pull(request: object, signal: AbortSignal): Promise<LeasedMessage[]> {
    try {
      const { receivedMessages = [] } = await this.#subscription.call<PullAnswer>('pull', request, {
        timeoutMs: PULL_MS,
        signal,
      });
      return receivedMessages.map(received);
    } catch (error) {
      // Nothing came in that time. A connection that is dead ends by its keepalive, with another status.
      if (isStatus(error, status.DEADLINE_EXCEEDED)) return [];
      throw error;
    }
  }
}

function received({ ackId, message }: NonNullable<PullAnswer['receivedMessages']>[number]): LeasedMessage {
  const { data, attributes, messageId: id, publishTime } = message;
  return {
    key: `${id} ${publishTime?.seconds ?? ''}.${publishTime?.nanos ?? ''}`,
    id,
    receipt: ackId,
    body: typeof data === 'string' ? Buffer.from(data, 'base64') : Buffer.from(data),
    headers: { ...attributes },
  };
}
