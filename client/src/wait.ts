const LONGEST_BACK_OFF = 8_000;
/** A server that asks for more than this is not waited for. */
const LONGEST_RETRY_AFTER = 60_000;

/**
 * Milliseconds before the next attempt: doubled each time, with jitter so that callers do not come back
 * together, and never less than `Retry-After` asks for. Undefined: too long to wait.
 */
export function delayBefore(
  attempts: number,
  retryAfter: number | undefined,
  firstDelay = 250,
): number | undefined {
  const backOff = Math.min(firstDelay * 2 ** (attempts - 1), LONGEST_BACK_OFF) * (0.5 + Math.random() / 2);
  const delay = Math.max(backOff, (retryAfter ?? 0) * 1000);
  return delay > LONGEST_RETRY_AFTER ? undefined : delay;
}

/** Seconds of a `Retry-After` header, which is a number or a date. */
export function retryAfterSeconds(header: string | null, now = Date.now()): number | undefined {
  if (header === null || header === '') return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

/**
 * The calls and waits of each signal. They share one listener, because Node 20 warns of a leak when a signal
 * has more than ten.
 */
const endsOf = new WeakMap<AbortSignal, { ends: Set<() => void>; listener: () => void }>();

/** Calls `end` when the signal comes. Returns a function that takes this back. */
export function onAbort(signal: AbortSignal | undefined, end: () => void): () => void {
  if (signal === undefined) return () => {};
  let shared = endsOf.get(signal);
  if (shared === undefined) {
    const ends = new Set<() => void>();
    const listener = () => {
      for (const one of ends) one();
    };
    shared = { ends, listener };
    endsOf.set(signal, shared);
    signal.addEventListener('abort', listener, { once: true });
  }
  const { ends, listener } = shared;
  ends.add(end);
  return () => {
    ends.delete(end);
    if (ends.size > 0 || endsOf.get(signal)?.ends !== ends) return;
    signal.removeEventListener('abort', listener);
    endsOf.delete(signal);
  };
}

/** Waits, and rejects with the reason of the signal if that comes first. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const forget = onAbort(signal, () => {
      clearTimeout(timer);
      forget();
      reject(signal?.reason as Error);
    });
    const timer = setTimeout(() => {
      forget();
      resolve();
    }, ms);
  });
}
