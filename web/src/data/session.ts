/*
 * The reader: a person with a session, whose cookie the page cannot see, or the holder of an API key. A key lives
 * in this tab only: sessionStorage forgets it when the tab is closed, and another tab asks again.
 */
import { Posthorn, PosthornError, type UseLinkBody } from 'posthorn-client';
import { watchedFetch } from './service/service.ts';

export interface Me {
  /** The email address. Null with a key. */
  person: string | null;
  instance_admin: boolean;
  projects: { uid: string; name: string; role: 'viewer' | 'developer' | 'admin' }[];
}

const STORED = 'posthorn.key';

/** A code of the second factor is asked for. */
export const needsCode = (error: unknown): boolean =>
  error instanceof PosthornError && error.code === 'code_required';

export const isSignedOut = (error: unknown): boolean =>
  error instanceof PosthornError && error.status === 401;

export async function signIn(given: { email: string; password: string; code?: string }): Promise<void> {
  sessionStorage.removeItem(STORED);
  await apiOf().signIn.signIn(given, { retries: 0 });
}

/** Uses an invitation, reset or sign-in link up. */
export async function followLink(use: UseLinkBody): Promise<void> {
  sessionStorage.removeItem(STORED);
  await apiOf().signIn.useLink(use, { retries: 0 });
}

export async function signInWithKey(key: string): Promise<void> {
  await new Posthorn({ url: location.origin, key, retries: 0 }).projects.list();
  sessionStorage.setItem(STORED, key);
}

export async function signOut(): Promise<void> {
  if (sessionStorage.getItem(STORED) === null) await apiOf().signIn.signOut();
  sessionStorage.removeItem(STORED);
}

/** The client of the API. Without a project only the calls of the instance work. */
export function apiOf(project?: string, onWarnings?: (warnings: readonly string[]) => void): Posthorn {
  const key = sessionStorage.getItem(STORED);
  return new Posthorn({
    url: location.origin,
    ...(key === null ? {} : { key }),
    retries: 2,
    fetch: watchedFetch,
    ...(project === undefined ? {} : { project }),
    ...(onWarnings === undefined ? {} : { onWarnings }),
  });
}

export async function readMe(): Promise<Me> {
  if (sessionStorage.getItem(STORED) !== null) return keyHolder();
  const { person, instance_admin, projects } = await apiOf().ownAccount.getMe();
  return { person: person.email, instance_admin, projects };
}

async function keyHolder(): Promise<Me> {
  const api = apiOf();
  const projects = await api.projects.list();
  const mayAll = await api.audit
    .listInstance({ perPage: 1 })
    .page()
    .then(() => true)
    .catch((error: unknown) => {
      if (error instanceof PosthornError && error.status === 403) return false;
      throw error;
    });
  return { person: null, instance_admin: mayAll, projects };
}
