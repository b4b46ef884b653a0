import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { cookieOf, member, PASSWORD, SessionClient, signIn, statusOf } from '../support/session-client.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const second = await app.addNode();
const auth = new ApiClient(`${app.url}/auth`, '');

describe('sessions', () => {
  test('changes need the origin of the service and a header that no form can send', async () => {
    const { client } = await member(app, 'admin');
    const make = (headers: Record<string, string>) =>
      fetch(`${client.base}/event-types`, {
        method: 'POST',
        headers: { cookie: client.cookie, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ name: `made.${Math.random()}` }),
      }).then(({ status }) => status);
    const header = { 'x-posthorn-csrf': '1' };
    expect(await make({})).toBe(403);
    expect(await make({ origin: app.url })).toBe(403);
    expect(await make({ ...header, origin: 'https://evil.example.com' })).toBe(403);
    expect(await make({ ...header, origin: 'null' })).toBe(403);
    expect(await make({ ...header, 'sec-fetch-site': 'same-site', origin: app.url })).toBe(403);
    expect(await make({ ...header, 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await make({ ...header, origin: app.url })).toBe(201);
    expect(await make({ ...header, 'sec-fetch-site': 'same-origin' })).toBe(201);
    expect(await make(header)).toBe(201);
  });

  test('a page of another site reads nothing with the cookie of a visitor', async () => {
    const { client } = await member(app, 'viewer');
    const read = (headers: Record<string, string>) =>
      fetch(`${client.base}/endpoints`, { headers: { cookie: client.cookie, ...headers } }).then(
        (response) => [response.status, response.headers.get('access-control-allow-origin')],
      );
    expect(await read({ 'sec-fetch-site': 'cross-site' })).toEqual([403, null]);
    expect(await read({ origin: 'https://evil.example.com' })).toEqual([403, null]);
    expect(await read({ 'sec-fetch-site': 'none' })).toEqual([200, null]);
  });

  test('people list their sessions and end them, at once here and soon on other nodes', async () => {
    const { email, auth: first } = await member(app, 'viewer');
    const other = new SessionClient(
      `${second.url}/auth`,
      cookieOf(await signIn(second.url, { email, password: PASSWORD })),
    );
    expect(await statusOf(other)).toBe(200);
    // The clocks of two nodes differ by a little, and with them the order.
    const sessions = (await first.get('/sessions')).toSorted((a: Json) => (a.current ? 1 : -1));
    expect(sessions.map(({ current, method }: Json) => [current, method])).toEqual([
      [false, 'password'],
      [true, 'link'],
    ]);
    // This node remembers the lookup of a session for a second, and /me would read the session again.
    const here = () => statusOf(other.at(`${app.url}/auth`), '/sessions');
    expect(await here()).toBe(200);
    await first.delete(`/sessions/${sessions[0].uid}`);
    expect(await here()).toBe(401);
    await eventually(() => statusOf(other), 401);
    await first.delete(`/sessions/${sessions[0].uid}`, 404);
    const stranger = await member(app, 'viewer');
    await stranger.auth.delete(`/sessions/${sessions[1].uid}`, 404);
    expect(await statusOf(first)).toBe(200);

    const more = await Promise.all([1, 2].map(() => signIn(app.url, { email, password: PASSWORD })));
    await first.delete('/sessions');
    for (const response of more)
      expect(await statusOf(new SessionClient(`${app.url}/auth`, cookieOf(response)))).toBe(401);
    expect((await first.get('/sessions')).length).toBe(1);
  });

  test('signing out ends the session and removes the cookie; without a session it does nothing', async () => {
    const { auth: me } = await member(app, 'viewer');
    const out = (client: ApiClient, headers = {}) => client.raw('POST', '/sign-out', { headers });
    expect((await out(me, { origin: 'https://evil.example.com' })).status).toBe(403);
    expect(await statusOf(me)).toBe(200);
    const response = await out(me);
    expect(response.headers.getSetCookie()).toEqual([
      'posthorn_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
    ]);
    expect(await statusOf(me)).toBe(401);
    expect((await out(auth)).status).toBe(200);
  });

  test('a session ends by the clock, and when it is not used', async () => {
    const { auth: me, uid } = await member(app, 'viewer');
    const { session } = await me.get('/me');
    const hours = (Date.parse(session.expires_at) - Date.parse(session.created_at)) / 3_600_000;
    expect(hours).toBeCloseTo(12, 2);
    const set = (column: string, interval: string) =>
      app.database.query(`update sessions set ${column} = now() + $2::interval where person_id = $1`, [
        uid,
        interval,
      ]);
    const ends = () => eventually(() => statusOf(me), 401);
    await set('last_used_at', '-31 minutes');
    await ends();
    await set('last_used_at', '-29 minutes');
    await eventually(() => statusOf(me), 200);
    await eventually(
      () =>
        app.database.query(
          "select 1 from sessions where person_id = $1 and last_used_at > now() - interval '1 minute'",
          [uid],
        ),
      { length: 1 },
    );
    await set('expires_at', '-1 second');
    await ends();
    await set('expires_at', '1 hour');
    await eventually(() => statusOf(me), 200);
  });

  test('access that ends while the body of a call is on its way does not count', async () => {
    const { email, client, auth: me } = await member(app, 'admin');
    const spare = new SessionClient(
      `${app.url}/auth`,
      cookieOf(await signIn(app.url, { email, password: PASSWORD })),
    );
    const { uid } = (await me.get('/me')).session;
    const body = JSON.stringify({ name: 'written.too.late' });
    const ended = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const stream = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(Buffer.from(body.slice(0, 5)));
        begun.resolve();
        await ended.promise;
        controller.enqueue(Buffer.from(body.slice(5)));
        controller.close();
      },
    });
    const writing = fetch(`${client.base}/event-types`, {
      method: 'POST',
      headers: { ...client.headers(), 'content-type': 'application/json' },
      body: stream,
      duplex: 'half',
    } as RequestInit);
    await begun.promise;
    // The headers are on the server once it has looked the session up.
    await statusOf(me);
    await spare.delete(`/sessions/${uid}`);
    ended.resolve();
    expect((await writing).status).toBe(401);
    const types = await app.project.get('/event-types');
    expect(JSON.stringify(types)).not.toContain('written.too.late');
  });

  test('a key cannot use the operations of a person, and a session is not a key', async () => {
    for (const [method, path] of [
      ['GET', '/me'],
      ['GET', '/sessions'],
      ['DELETE', '/sessions/x'],
      ['DELETE', '/sessions'],
    ] as const) {
      const withKey = await new ApiClient(`${app.url}/auth`, app.project.key).raw(method, path);
      expect([path, withKey.status]).toEqual([path, 403]);
      const without = await auth.raw(method, path);
      expect([path, without.status]).toEqual([path, 401]);
    }
    const { client } = await member(app, 'admin');
    const token = client.cookie.split('=')[1] ?? '';
    expect(await statusOf(new ApiClient(client.base, token), '/endpoints')).toBe(401);
    expect(await statusOf(client.at(`${app.url}/portal-api`), '/endpoints')).toBe(400);
  });
});
