import { PosthornError } from './errors.ts';
import { Events } from './generated/resources.ts';
import type { BatchEvent, BatchEventsResult, BatchResult, EventDryRun } from './generated/types.ts';
import type { CallOptions } from './request.ts';

export interface SendManyOptions extends Omit<CallOptions, 'idempotencyKey' | 'requestId'> {
  /** Store nothing if an event is refused; at most 1,000 events then. The refusal is a PosthornError. */
  allOrNothing?: boolean;
  /** Called with the results of each call, in order. If it throws, no further call is made. */
  onProgress?: (results: readonly BatchResult[]) => void;
}

const MOST = 1_000;

export class ManyEvents extends Events {
  /** Says who would get an event, why others would not, and the config that it would make. Nothing is stored. */
  dryRun({ kind, ...body }: BatchEvent, options?: CallOptions): Promise<EventDryRun> {
    const at = kind === 'direct' ? this.scope.at`/events` : this.scope.at`/events/${kind}`;
    const query = { dry_run: true };
    return this.scope.data('POST', at, { body, query, repeatable: true, options });
  }

  /**
   * Send any number of events, 1,000 in a call, one call after another. The results are in the order of the events: a bad
   * event is refused and does not keep the others from being stored. Each event has an idempotency key, made here unless it
   * has one, so a call is sent again after a lost answer and each event is stored once. If a call fails for good, its error is
   * thrown; `onProgress` has got the results of those before it.
   */
  async sendMany(events: readonly BatchEvent[], options: SendManyOptions = {}): Promise<BatchResult[]> {
    const { allOrNothing = false, onProgress, ...callOptions } = options;
    if (allOrNothing && events.length > MOST)
      throw new RangeError(`allOrNothing takes at most ${MOST} events`);
    const results: BatchResult[] = [];
    let size = MOST;
    while (results.length < events.length) {
      const part = events.slice(results.length, results.length + size);
      try {
        const answered = await this.#send(part, { allOrNothing, callOptions });
        const placed = answered.map((result) => inPlace(result, results.length));
        results.push(...placed);
        onProgress?.(placed);
      } catch (error) {
        if (allOrNothing || part.length === 1 || !isTooLarge(error)) throw error;
        size = Math.ceil(part.length / 2);
      }
    }
    return results;
  }

  async #send(
    part: readonly BatchEvent[],
    { allOrNothing, callOptions }: { allOrNothing: boolean; callOptions: CallOptions },
  ): Promise<BatchResult[]> {
    const own = new Set<number>();
    const events = part.map((event, n) => {
      if ((event.idempotency_key ?? '') !== '') return event;
      own.add(n);
      return { ...event, idempotency_key: crypto.randomUUID() };
    });
    const { results } = await this.scope.data<BatchEventsResult>('POST', this.scope.at`/events/batch`, {
      body: { events, all_or_nothing: allOrNothing },
      repeatable: true,
      options: callOptions,
    });
    // With a key made here, a duplicate is this call's own event, stored by an attempt whose answer was lost.
    return results.map((result, n) =>
      own.has(n) && result.status === 'duplicate' && result.duplicate_of !== ''
        ? { ...result, status: 'stored', uid: result.duplicate_of, duplicate_of: '' }
        : result,
    );
  }
}

/** A reason names the event by its place in the call. Here it is that in the whole list. */
function inPlace(result: BatchResult, before: number): BatchResult {
  if (before === 0 || result.message === '') return result;
  const message = result.message.replaceAll(
    /(?<=^|; )events\[(\d+)\]/g,
    (_, n) => `events[${before + Number(n)}]`,
  );
  return { ...result, message };
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof PosthornError && error.code === 'body_too_large';
