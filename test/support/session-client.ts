import { codeAt, stepAt } from '../../src/people/totp.ts';
import type { TestApp } from './app.ts';
import { ApiClient, type Json } from './client.ts';
import { atLeast, eventually } from './eventually.ts';

/** A person with a browser: a cookie, the origin of the service, and the header that pages send with changes. */
export class SessionClient extends ApiClient {
  readonly cookie: string;
  readonly origin: string;

  constructor(base: string, cookie: string) {
    super(base, '');
    this.cookie = cookie;
    this.origin = new URL(base).origin;
  }

  override headers(): Record<string, string> {
    return { cookie: this.cookie, origin: this.origin, 'x-posthorn-csrf': '1' };
  }

  /** The same base with another session. */
  as(cookie: string): SessionClient {
    return new SessionClient(this.base, cookie);
  }

  /** The same session at another base. */
  at(base: string): SessionClient {
    return new SessionClient(base, this.cookie);
  }
}

export const PASSWORD = 'orchid lamp quarry 7';

/** The `name=value` of the session cookie that an answer sets. */
export function cookieOf(response: Response): string {
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

export const tokenOf = (link: string): string => link.split('#link=')[1] ?? '';

let count = 0;

export interface Member {
  email: string;
  uid: string;
  /** Calls in the project of the membership. */
  client: SessionClient;
  /** Calls at /auth. */
  auth: SessionClient;
}

/** A person who was invited and has signed in: with a role in the default project, or an administrator of the instance. */
export async function member(
  app: TestApp,
  role: 'viewer' | 'developer' | 'admin' | 'instance',
  project: ApiClient = app.project,
): Promise<Member> {
  const email = `person-${(count += 1)}@example.com`;
  const invited: Json =
    role === 'instance'
      ? await app.instance.post('/people', { email, name: 'Person' })
      : await app.instance.post(`/projects/${project.projectId}/people`, { email, name: 'Person', role });
  const response = await use(app.url, { token: tokenOf(invited.link), password: PASSWORD });
  const client = new SessionClient(project.base, cookieOf(response));
  return { email, uid: invited.person.uid, client, auth: client.at(`${app.url}/auth`) };
}

/** Makes calls wait for the row of a person, changes the row if wanted, and lets them go on. */
export async function behindLock(
  { database }: TestApp,
  uid: string,
  { calls, change }: { calls: (() => Promise<Response>)[]; change?: string },
): Promise<Response[]> {
  await database.query('begin');
  await database.query('select 1 from people where id = $1 for update', [uid]);
  const answers = calls.map((call) => call());
  await eventually(
    () =>
      database.query(
        `select distinct pid from pg_locks waiting join pg_locks held using (pid)
         where not waiting.granted
           and held.database = (select oid from pg_database where datname = current_database())`,
      ),
    { length: atLeast(calls.length) },
  );
  if (change !== undefined) await database.query(`update people set ${change} where id = $1`, [uid]);
  await database.query('commit');
  return Promise.all(answers);
}

/** The status of a read of what the caller may see. */
export async function statusOf(client: ApiClient, path = '/me'): Promise<number> {
  const response = await client.raw('GET', path);
  await response.arrayBuffer();
  return response.status;
}

export function use(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return new ApiClient(`${url}/auth`, '').raw('POST', '/link', { body, headers });
}

export function signIn(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return new ApiClient(`${url}/auth`, '').raw('POST', '/sign-in', { body, headers });
}

/** Sets up a second factor. The client must be at the root of the service. */
export async function setUpSecondFactor(
  client: SessionClient,
): Promise<{ client: SessionClient; secret: string; recoveryCodes: string[] }> {
  const { secret } = await client.post('/auth/second-factor/begin');
  const response = await client.raw('POST', '/auth/second-factor/confirm', {
    body: { code: codeAt(secret, stepAt(Date.now())) },
  });
  const { data } = (await response.json()) as Json;
  return {
    client: new SessionClient(client.base, cookieOf(response)),
    secret,
    recoveryCodes: data.recovery_codes,
  };
}
