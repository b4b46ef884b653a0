/*
 * The token of the link. It lives in this variable and nowhere else:
 *
 *   none     the address had no token: the reader opens the link again
 *   held     calls carry it
 *   renewing a call was refused, and the page around this one is asked for a fresh token
 *   ended    refused, and no fresh one came: the link has expired or was revoked
 *
 * A token in the address is taken out of it at once, also when another link is opened in the same tab. The page never
 * makes tokens.
 */
import { PosthornPortal } from 'posthorn-client';
import { useSyncExternalStore } from 'react';
import { watchedFetch } from '../data/service/service.ts';

export type SessionState = 'none' | 'held' | 'ended';

let token = '';
let state: SessionState = 'none';
let renewal: Promise<boolean> | undefined;
let askHost: () => Promise<string | null> = async () => null;
const listeners = new Set<() => void>();

function become(next: SessionState): void {
  state = next;
  for (const listener of listeners) listener();
}

export function useSession(): SessionState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state,
  );
}

export function takeToken(fresh: string): void {
  token = fresh;
  become('held');
}

/** The page around this one, if there is one that gives tokens. */
export function renewWith(ask: () => Promise<string | null>): void {
  askHost = ask;
}

/** Takes the token out of the address. False: there is none. */
export function takeTokenOfAddress(): boolean {
  const found = new URLSearchParams(location.hash.slice(1)).get('token');
  if (found === null || found === '') return false;
  history.replaceState(null, '', location.pathname + location.search);
  takeToken(found);
  return true;
}

/** Calls that are refused at the same time share one request for a fresh token. */
function renew(refused: string): Promise<boolean> {
  if (token !== refused) return Promise.resolve(true);
  renewal ??= askHost()
    .then((fresh) => {
      if (fresh === null || fresh === refused) become('ended');
      else takeToken(fresh);
      return state === 'held';
    })
    .finally(() => {
      renewal = undefined;
    });
  return renewal;
}

const withToken: typeof fetch = async (input, init) => {
  const send = () => {
    const headers = { ...(init?.headers as Record<string, string>), authorization: `Bearer ${token}` };
    return watchedFetch(input, { ...init, headers, credentials: 'omit' });
  };
  const used = token;
  const response = await send();
  return response.status === 401 && (await renew(used)) ? send() : response;
};

export const api = new PosthornPortal({
  url: location.origin,
  token: 'held-in-session',
  retries: 2,
  fetch: withToken,
});
