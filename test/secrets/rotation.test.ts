import { createHmac } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { codeAt, stepAt } from '../../src/people/totp.ts';
import { keyIdOf, Sealer } from '../../src/platform/sealer.ts';
import { subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { type Received, Receiver } from '../support/servers/receiver.ts';
import {
  cookieOf,
  PASSWORD,
  SessionClient,
  setUpSecondFactor,
  signIn,
  tokenOf,
  use,
} from '../support/session-client.ts';
import { Cluster, type ClusterNode, type Keys } from './cluster.ts';

const OLD = 'the old key, with a comma and more than 32 characters';
const NEW = 'the new key, with a comma and more than 32 characters';
const idOf = (key: string) => keyIdOf(Buffer.from(key));

let cluster: Cluster;
let receiver: Receiver;

beforeEach(async () => {
  receiver = await Receiver.start();
  cluster = await Cluster.make();
});

afterEach(async () => {
  await cluster.end();
  await receiver.stop();
});

/** A project that has a sealed value of each lasting kind. */
async function furnish({ app, project }: ClusterNode): Promise<{ token: string; secondFactor: string }> {
  const meta_event = {
    is_enabled: true,
    url: `${receiver.url}/meta`,
    event_type: ['*'],
    secret: 'meta-secret',
  };
  await project.put('', { name: 'default', config: { meta_event }, variables: { V: 'the-variable' } });
  const api_key = { header_name: 'X-Key', header_value: 'the-credential' };
  for (let i = 0; i < 10; i++)
    await project.post('/endpoints', {
      name: `e${i}`,
      url: `${receiver.url}/other`,
      slack_webhook_url: `${receiver.url}/${i}`,
    });
  await subscribe(project, `${receiver.url}/hook`, {
    eventTypes: ['a'],
    endpoint: {
      secret: 'signing',
      advanced_signatures: false,
      owner_id: 'owner',
      authentication: { type: 'api_key', api_key },
    },
    subscription: {
      function:
        'export const version = 2; const transform = (p, { variables }) => ({ headers: { "X-Var": variables.V } })',
    },
  });
  const verifier = { type: 'api_key', api_key: { header_name: 'X-In', header_value: 'incoming' } };
  await project.post('/sources', { name: 's', type: 'http', verifier });
  const link = await project.post('/portal-links', { name: 'l', owner_id: 'owner' });
  await cluster.database.query(
    `insert into change_stream_slots (id, source_id, project_id, is_slot_made, is_publication_made, generation, epoch, sealed, retry_at)
     values ('slot', 'gone', 'p', false, false, '', 0, $1, now() + interval '1 day')`,
    [new Sealer([Buffer.from(OLD)]).seal('{}', 'change stream slot')],
  );
  const { link: invitation } = await project.post('/people', { email: 'ann@example.com', role: 'viewer' });
  const used = await use(app.url, { token: tokenOf(invitation), password: PASSWORD });
  const { secret } = await setUpSecondFactor(new SessionClient(app.url, cookieOf(used)));
  return { token: link.token, secondFactor: secret };
}

function isWhole({ headers, body }: Received): boolean {
  const signature = createHmac('sha256', 'signing').update(body).digest('hex');
  return (
    headers['x-key'] === 'the-credential' &&
    headers['x-var'] === 'the-variable' &&
    headers.authorization === 'Bearer of the event' &&
    headers['x-convoy-signature'] === signature
  );
}

// proves Instance: POSTHORN_OTHER_SECRET_KEY
test('the key is changed while two nodes deliver: nothing is lost, sent wrongly or left behind', {
  timeout: 180_000,
}, async () => {
  const nodes = [await cluster.start({ secretKey: OLD }), await cluster.start({ secretKey: OLD })];
  const { token, secondFactor } = await furnish(nodes[0]!);
  const restartAll = async (keys: Keys) => {
    for (const index of nodes.keys()) {
      const before = nodes[index]!;
      const fresh = await cluster.start(keys);
      nodes[index] = fresh;
      await before.app.stop();
    }
  };
  const sender = new Sender(() => nodes.at(-1)!);
  await restartAll({ secretKey: OLD, otherSecretKey: NEW });
  await restartAll({ secretKey: NEW, otherSecretKey: OLD });

  // Half way: one row cannot be had, all the others are done, then it is killed.
  const holder = new pg.Client({ connectionString: cluster.database.url });
  await holder.connect();
  await holder.query('begin');
  await holder.query('select id from endpoints order by id limit 1 for update');
  const keys = { secretKey: NEW, otherSecretKey: OLD };
  const killed = cluster.reseal(keys);
  await eventually(() => Promise.resolve(killed.stdout), /trying again/);
  await killed.kill();
  await holder.query('rollback');
  await holder.end();
  const half = await cluster.keysOfValues();
  expect(half[idOf(OLD)]).toBe(1);
  expect(half[idOf(NEW)]).toBeGreaterThan(10);
  expect(await cluster.refusal({ secretKey: NEW })).toContain(idOf(OLD));

  const again = cluster.reseal(keys);
  expect(await again.ended, again.stderr).toEqual({ code: 0, signal: null });
  expect(again.stdout).toContain('endpoints: 1 sealed again');
  expect(again.stdout).toContain(`The secret key ${idOf(OLD)} is no longer in use.`);
  expect(again.stdout).toContain('POSTHORN_OTHER_SECRET_KEY can be removed');
  await restartAll({ secretKey: NEW });
  const sent = await sender.stop();
  expect(Object.keys(await cluster.keysOfValues())).toEqual([idOf(NEW)]);
  const events = await cluster.database.query(`select headers from events where headers like '%sealed:%'`);
  expect(events.length).toBe(sent);
  const sealer = new Sealer([Buffer.from(NEW)]);
  for (const { headers } of events as { headers: string }[])
    expect(sealer.isCurrent(Buffer.from(/sealed:([^"]*)/.exec(headers)?.[1] ?? '', 'base64'))).toBe(true);

  const hooks = () => receiver.requests.filter(({ path }) => path === '/hook');
  const numbers = () => new Set(hooks().map(({ json }) => json.n));
  await eventually(() => Promise.resolve(numbers().size), sent);
  expect(hooks().filter((request) => !isWhole(request))).toEqual([]);
  // Keys and tokens of before still open, secrets read the same.
  await nodes[0]!.portal(token).get('/endpoints');
  const code = codeAt(secondFactor, stepAt(Date.now()) + 1);
  const signedIn = await signIn(nodes[0]!.app.url, { email: 'ann@example.com', password: PASSWORD, code });
  expect(signedIn.status).toBe(200);
  const project = await nodes[1]!.project.get('');
  expect(project.config.meta_event.secret).toBe('meta-secret');
  expect(cluster.log).not.toContain('SealError');
});

/** Sends events one after another until stopped. An event that was refused while its node stopped is sent again. */
class Sender {
  readonly #node: () => ClusterNode;
  readonly #running: Promise<number>;
  #stopped = false;

  constructor(node: () => ClusterNode) {
    this.#node = node;
    this.#running = this.#run();
  }

  stop(): Promise<number> {
    this.#stopped = true;
    return this.#running;
  }

  async #run(): Promise<number> {
    let sent = 0;
    while (!this.#stopped) {
      if (await this.#send(sent)) sent += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return sent;
  }

  async #send(n: number): Promise<boolean> {
    const body = {
      event_type: 'a',
      data: { n },
      idempotency_key: `key ${n}`,
      custom_headers: { Authorization: 'Bearer of the event' },
    };
    try {
      const response = await this.#node().project.raw('POST', '/events/broadcast', { body });
      const { data } = (await response.json()) as { data?: { is_duplicate_event: boolean } };
      if (response.status === 503) return false;
      expect(response.status).toBe(201);
      return data !== undefined;
    } catch (error) {
      if (error instanceof TypeError) return false;
      throw error;
    }
  }
}

// proves Instance: POSTHORN_SECRET_KEY
test('a start is refused with a key that running nodes lack, or without a key that the data needs', async () => {
  const node = await cluster.start({ secretKey: OLD });
  await furnish(node);
  const early = await cluster.refusal({ secretKey: NEW, otherSecretKey: OLD });
  expect(early).toMatch(/secret key of this node is unknown to nodes that run .*POSTHORN_OTHER_SECRET_KEY/);
  expect(await cluster.resealRefusal({ secretKey: NEW, otherSecretKey: OLD })).toBe(`posthorn: ${early}`);
  const wrong = await cluster.refusal({ secretKey: NEW });
  expect(wrong).toContain(
    `secrets in this database are sealed with the secret key ${idOf(OLD)}, which this node does not have; set it as`,
  );
  expect(wrong).not.toContain(NEW);
  expect(await node.project.get('/endpoints')).toBeTruthy();
});

test('resealing while a node still seals with the other key fails, and keeps the other key on the list', async () => {
  const node = await cluster.start({ secretKey: OLD, otherSecretKey: NEW });
  await furnish(node);
  const keys = { secretKey: NEW, otherSecretKey: OLD };
  expect(await cluster.resealRefusal(keys)).toContain('running nodes still seal with another key');
  expect(Object.keys(await cluster.keysOfValues())).toEqual([idOf(NEW)]);
  expect(await cluster.refusal({ secretKey: NEW })).toContain(idOf(OLD));
  await node.app.stop();
  const again = cluster.reseal(keys);
  expect(await again.ended, again.stderr).toEqual({ code: 0, signal: null });
  await cluster.start({ secretKey: NEW });
});

test('a value under an unknown key is reported by the API and by reseal, and does not change', async () => {
  const node = await cluster.start({ secretKey: OLD });
  await furnish(node);
  const { content } = await node.project.get('/endpoints?perPage=1');
  const { uid } = content[0];
  const foreign = new Sealer([Buffer.from('a key that nobody here has ever had')]);
  const sealed = foreign.seal('{}', `endpoint ${uid}`);
  await cluster.database.query('update endpoints set sealed = $2 where id = $1', [uid, sealed]);
  const answer = await node.project.get(`/endpoints/${uid}`, 500);
  const problem = `endpoint ${uid} is sealed with the secret key ${foreign.keyId}, which this node does not have`;
  expect(answer).toMatchObject({ code: 'secret_unreadable', message: expect.stringContaining(problem) });
  await node.app.stop();
  const line = await cluster.resealRefusal({ secretKey: NEW, otherSecretKey: OLD });
  expect(line).toContain(`1 values could not be opened and stay as they are: ${problem}`);
  const [row] = await cluster.database.query('select sealed from endpoints where id = $1', [uid]);
  expect(row?.['sealed']).toEqual(sealed);
  expect(await cluster.refusal({ secretKey: NEW })).toContain(idOf(OLD));
});
