import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for all times of the page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** Nothing sets the clock while the page shows no time. It is read in whole seconds then, so that two reads agree. */
export function readClock(): number {
  if (listeners.size === 0) now = Math.floor(Date.now() / 1000) * 1000;
  return now;
}
export const useNow = (): number => useSyncExternalStore(subscribe, readClock);
