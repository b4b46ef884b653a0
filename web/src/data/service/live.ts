/*
 * One stream per project, shared by all lists of the page:
 *
 *   no listener -> closed
 *   a listener  -> open; each message goes to the listeners of its kind
 *   refused or broken -> the lists read by themselves every few seconds, and the stream is tried again
 */
import type { Posthorn } from 'posthorn-client';
import { useEffect, useRef } from 'react';
import { apiOf } from '../session.ts';

export type News = 'event' | 'event_delivery';
type Listener = (kind: News | 'all') => void;

interface Shared {
  listeners: Set<Listener>;
  controller: AbortController;
}

const AGAIN_MS = 5000;
const streams = new Map<string, Shared>();

async function follow(api: Posthorn, { listeners, controller }: Shared): Promise<void> {
  const { signal } = controller;
  const tell = (kind: News | 'all') => {
    for (const listener of listeners) listener(kind);
  };
  for (;;) {
    try {
      for await (const message of api.stream({ signal }))
        tell(message.kind === 'event' || message.kind === 'event_delivery' ? message.kind : 'all');
    } catch {
      // The lists read by themselves meanwhile. They meet the same reason and show it.
    }
    if (signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

function listen(project: string, listener: Listener): () => void {
  let shared = streams.get(project);
  if (shared === undefined) {
    shared = { listeners: new Set(), controller: new AbortController() };
    streams.set(project, shared);
    void follow(apiOf(project), shared);
  }
  const { listeners, controller } = shared;
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    streams.delete(project);
    controller.abort();
  };
}

const AT_MOST_EVERY_MS = 500;

/** Calls `onNews` when something of the kind is new, twice a second at most. */
export function useNews(project: string, kind: News | undefined, onNews: () => void): void {
  const call = useRef(onNews);
  useEffect(() => {
    call.current = onNews;
  });
  useEffect(() => {
    if (kind === undefined) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = listen(project, (news) => {
      if (news !== kind && news !== 'all') return;
      timer ??= setTimeout(() => {
        timer = undefined;
        call.current();
      }, AT_MOST_EVERY_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [project, kind]);
}
