/*
 * Whether the service answers:
 *
 *   here -> no answer for 5 s -> away, since the last answer
 *   away -> an answer         -> here: what the page shows is read again
 *
 * The calls of the page tell. While they are silent the page asks `/readyz` by itself. The answer of a proxy without a
 * service, or of a service that is not ready, is none. A page that is hidden, or whose computer slept, begins again.
 */
import { useSyncExternalStore } from 'react';

const AWAY_AFTER_MS = 5000;
const ASKED_AFTER_MS = 2500;
const TICK_MS = 1000;
const NOT_READY: ReadonlySet<number> = new Set([502, 503, 504]);

let answeredAt = Date.now();
let tickedAt = answeredAt;
let awaySince: number | undefined;
let isAsking = false;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();
const waiting = new Set<() => void>();

function become(since: number | undefined): void {
  awaySince = since;
  for (const listener of listeners) listener();
}

function hear({ status }: Response): void {
  if (NOT_READY.has(status)) return;
  answeredAt = Date.now();
  for (const go of waiting) go();
  waiting.clear();
  if (awaySince !== undefined) become(undefined);
}

/** The `fetch` of the page's clients. */
export const watchedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  hear(response);
  return response;
};

/** Asks once whether the service is ready. */
async function ask(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ASKED_AFTER_MS);
    const { status } = await watchedFetch('/readyz', { cache: 'no-store', signal });
    return !NOT_READY.has(status);
  } catch {
    // That there was no answer is the answer.
    return false;
  }
}

function tick(): void {
  const now = Date.now();
  const slept = document.hidden || now - tickedAt > 3 * TICK_MS;
  tickedAt = now;
  if (awaySince === undefined && slept) answeredAt = now;
  const silentMs = now - answeredAt;
  if (awaySince === undefined && silentMs >= AWAY_AFTER_MS) become(answeredAt);
  if (isAsking || silentMs < ASKED_AFTER_MS) return;
  isAsking = true;
  void ask().finally(() => {
    isAsking = false;
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, TICK_MS);
  return () => void listeners.delete(listener);
}

/** When the service answered last, in milliseconds. Undefined: it answers. */
export const useAwaySince = (): number | undefined => useSyncExternalStore(subscribe, () => awaySince);

/** Calls `onReturn` each time when the service answers again, until the function that it gives back is called. */
export function whenBack(onReturn: () => void): () => void {
  let was = awaySince;
  return subscribe(() => {
    if (was !== undefined && awaySince === undefined) onReturn();
    was = awaySince;
  });
}

/**
 * Loads a part of the page. If the service is away, the page waits for it and is then loaded again at its address, because a
 * browser may remember that a file could not be had. A file that a newer version no longer has is an error.
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (await ask()) throw error;
    await new Promise<void>((resolve) => waiting.add(resolve));
    location.reload();
    return new Promise<never>(() => {});
  }
}
