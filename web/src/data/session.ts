/*
 * Who the reader is. The key is typed on the sign-in page and lives in this tab only: sessionStorage forgets it when the
 * tab is closed, and another tab asks again.
 */
import { Posthorn, PosthornError } from 'posthorn-client';

export interface Me {
  /** Null with a key. */
  person: string | null;
  instance_admin: boolean;
  projects: { uid: string; name: string; role: string }[];
}

const STORED = 'posthorn.key';

export const isSignedIn = (): boolean => sessionStorage.getItem(STORED) !== null;

export async function signIn(key: string): Promise<void> {
  await new Posthorn({ url: location.origin, key, retries: 0 }).projects.list();
  sessionStorage.setItem(STORED, key);
}

export function signOut(): void {
  sessionStorage.removeItem(STORED);
}

/** The client of the API. Without a project only the calls of the instance work. */
export function apiOf(project?: string): Posthorn {
  const key = sessionStorage.getItem(STORED) ?? '';
  return new Posthorn({
    url: location.origin,
    key,
    retries: 2,
    ...(project === undefined ? {} : { project }),
  });
}

export async function readMe(): Promise<Me> {
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
  const role = mayAll ? 'instance key' : 'API key';
  return {
    person: null,
    instance_admin: mayAll,
    projects: projects.map(({ uid, name }) => ({ uid, name, role })),
  };
}
