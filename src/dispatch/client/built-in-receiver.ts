import { RECEIVER_URL } from '../../domain/delivery.ts';
import { ExchangeFailure, type Outcome } from '../connection/outcome.ts';
import type { Turn } from '../connection/turn.ts';

/**
 * An endpoint inside the service, to try things out. Requests to it leave the process neither over the network nor
 * through a proxy, so no egress rule applies. It answers 200, or NNN to /status/NNN, and keeps nothing: deliveries and
 * their attempts have everything that arrived.
 */
const STATUS_PATH = /^status\/([2-5]\d\d)(?:$|[/?#])/;
const BODY = Buffer.from('{"received":true}');

export async function receive(
  { url, turn }: { url: string; turn?: Turn },
  signal?: AbortSignal,
): Promise<Outcome> {
  if (turn !== undefined) await taken(turn, signal);
  const status = Number(STATUS_PATH.exec(url.slice(RECEIVER_URL.length))?.[1] ?? 200);
  return {
    kind: 'response',
    status,
    statusText: status === 200 ? '200 OK' : String(status),
    headers: { 'content-type': ['application/json'] },
    body: BODY,
    truncated: false,
    address: null,
    certificates: null,
    timings: { firstByteMs: 0, totalMs: 0 },
    startedMs: performance.now(),
  };
}

/** Resolves when the request may begin. */
async function taken(turn: Turn, signal: AbortSignal | undefined): Promise<void> {
  for (let next = turn.take(); next !== 'now'; next = turn.take()) {
    if (next === 'never' || signal?.aborted === true)
      throw new ExchangeFailure('aborted', 'the request was cancelled', true);
    await new Promise<void>((resolve) => {
      const stop = turn.wait(resolve);
      signal?.addEventListener(
        'abort',
        () => {
          stop();
          resolve();
        },
        { once: true },
      );
    });
  }
}
