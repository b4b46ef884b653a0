import { beforeEach, describe, expect, test } from 'vitest';
import { moveSourceAlert } from '../../src/control/alert-changes.ts';
import { asId, type ProjectId, type SourceId } from '../../src/domain/ids.ts';
import { back } from '../../src/engine/attempt/sent.ts';
import { OutcomeWatch } from '../../src/engine/health/outcome-watch.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { ObserverGuard } from '../../src/metrics/observer-guard.ts';
import { clearAlerts, raiseAlerts } from '../../src/store/changes/alert-writes.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually, every } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { quietLog } from '../support/quiet-log.ts';
import { leasedDelivery } from '../support/samples/leased-delivery.ts';
import { answered } from '../support/samples/outcomes.ts';
import { MailServer } from '../support/servers/mail-server.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** Answers deliveries as `status` says, and is Slack, Teams and the meta listener too. */
let receiver: Receiver;
let project: ApiClient;
let status: number;

const mailServer = await shared(MailServer.start());
const app = await shared(
  startTestApp({ POSTHORN_SMTP_URL: mailServer.url, POSTHORN_SMTP_FROM: 'posthorn@example.com' }),
);
await app.addNode();

beforeEach(async () => {
  receiver = await Receiver.start();
  status = 503;
  receiver.answerAlways((request, response) => {
    response.writeHead(request.path.startsWith('/hook') ? status : 200).end();
  });
  mailServer.mails.length = 0;
  return () => receiver.stop();
});

/** Each test has its own project with meta events for alerts. */
async function newProject(config: object = {}): Promise<void> {
  project = await app.newProject({
    strategy: { type: 'linear', duration: 1, retry_count: 50 },
    circuit_breaker: { sample_rate: 3600 },
    meta_event: {
      is_enabled: true,
      url: `${receiver.url}/meta`,
      secret: 's',
      event_type: ['alert.*'],
    },
    ...config,
  });
}

const channels = () => ({
  name: 'orders <!channel>',
  secret: 'the signing secret',
  support_email: 'owner@example.com',
  slack_webhook_url: `${receiver.url}/slack`,
  teams_webhook_url: `${receiver.url}/teams`,
});
const metaTypes = () => receiver.at('/meta').map(({ json }) => [json.event_type, json.data.kind]);
const send = (many: number) =>
  Promise.all(
    Array.from({ length: many }, (_, n) =>
      project.post('/events/broadcast', { event_type: 'x', data: { n } }),
    ),
  );
const allDelivered = (many: number) =>
  eventually(
    async () => (await project.get('/eventdeliveries?perPage=1000')).content as Json[],
    every({ status: 'Success' }, many),
  );
/** Every channel has this many alerts. */
const notices = (many: number) =>
  eventually(
    async () => ({
      mail: mailServer.mails.length,
      slack: receiver.at('/slack').length,
      teams: receiver.at('/teams').length,
      meta: receiver.at('/meta').length,
    }),
    (seen) => Object.values(seen).every((each) => each >= many),
  );

describe("a subscription's alert", () => {
  // proves Endpoints: support_email, slack_webhook_url, teams_webhook_url
  // proves Instance: POSTHORN_SMTP_URL, POSTHORN_SMTP_FROM
  test('is raised once for many failures over two nodes, everywhere, and cleared after a success', async () => {
    await newProject();
    const { endpoint, subscription } = await subscribe(project, `${receiver.url}/hook?token=in-the-query`, {
      endpoint: channels(),
      subscription: { alert_config: { count: 5, threshold: '1m' } },
    });
    await send(20);
    await notices(1);
    await receiver.received(60, '/hook?token=in-the-query');
    expect(metaTypes()).toEqual([['alert.raised', 'failures']]);
    const { data } = receiver.at('/meta')[0]?.json ?? {};
    const page = (path: string) => `${app.url}/p/${project.projectId}/${path}`;
    const links = [page(`endpoints/${endpoint.uid}`), page(`deliveries/${data.last_delivery_id}`)];
    expect(data.links).toEqual({ endpoint: links[0], last_delivery: links[1] });
    await project.get(`/eventdeliveries/${data.last_delivery_id}`);
    expect(data).toMatchObject({
      endpoint_id: endpoint.uid,
      subscription_id: subscription.uid,
      summary: '5 attempts failed within 1m.',
      last_status: '503 Service Unavailable',
    });
    status = 200;
    await notices(2);
    await allDelivered(20);
    expect(metaTypes()).toEqual([
      ['alert.raised', 'failures'],
      ['alert.cleared', 'failures'],
    ]);
    expect(await notices(2)).toEqual({ mail: 2, slack: 2, teams: 2, meta: 2 });

    const [raised, cleared] = mailServer.mails;
    expect(raised?.to).toEqual(['owner@example.com']);
    for (const part of [
      'needs attention',
      'orders',
      `${receiver.url}/hook`,
      '503 Service Unavailable',
      'What to do',
    ])
      expect(raised?.text).toContain(part);
    expect(cleared?.text).toContain('recovered');
    expect(raised?.text).toMatch(/^From: .*posthorn@example\.com/m);
    const slack = receiver.at('/slack')[0]?.json.text;
    for (const link of links) {
      expect(raised?.text.replaceAll('=\r\n', '')).toContain(link);
      expect(slack).toContain(`<${link}|`);
    }
    expect(slack).toContain('orders &lt;!channel&gt;');
    const card = receiver.at('/teams')[0]?.json.attachments[0];
    expect(card).toMatchObject({
      contentType: 'application/vnd.microsoft.card.adaptive',
      content: {
        type: 'AdaptiveCard',
        actions: links.map((url) => ({ type: 'Action.OpenUrl', title: expect.any(String), url })),
      },
    });
    const everything = [raised?.text, slack, JSON.stringify(card)].join();
    expect(everything).not.toMatch(/in-the-query|the signing secret/);
  });

  test('names the broker that its endpoint sends to, and speaks of no URL or status', async () => {
    await newProject();
    const auth = { user: 'ada', password: 'hush-hush' };
    const amqp = { host: 'posthorn.invalid', routing_key: 'orders', auth };
    await subscribe(project, '', {
      endpoint: { ...channels(), delivery: 'broker', broker: { type: 'amqp', amqp } },
      subscription: { alert_config: { count: 1, threshold: '1m' } },
    });
    await send(1);
    await notices(1);
    const address = 'amqp://posthorn.invalid:5672/%2F//orders';
    const { data } = receiver.at('/meta')[0]?.json ?? {};
    expect(data).toMatchObject({ endpoint: { url: address }, last_status: '' });
    const slack = receiver.at('/slack')[0]?.json.text;
    expect(slack).toContain(`Broker: ${address}`);
    expect(slack).toContain('Last reason: The name posthorn.invalid does not exist.');
    expect(slack).toContain('Check that the broker is reachable and confirms messages.');
    const everything = [mailServer.mails[0]?.text, slack, JSON.stringify(data)].join();
    expect(everything).not.toMatch(/hush-hush|URL:|Last status:|2xx/);
    const { endpoints } = await project.get('/health');
    expect(endpoints).toMatchObject([{ url: address, state: 'failing' }]);
    const { content } = await project.get('/eventdeliveries');
    expect(content).toMatchObject([{ target_url: address }]);
  });

  test('is raised again when the endpoint fails again', async () => {
    await newProject();
    await subscribe(project, `${receiver.url}/hook`, {
      endpoint: channels(),
      subscription: { alert_config: { count: 2, threshold: '1m' } },
    });
    await send(1);
    await notices(1);
    status = 200;
    await notices(2);
    status = 500;
    await send(1);
    await notices(3);
    expect(metaTypes().map(([type]) => type)).toEqual(['alert.raised', 'alert.cleared', 'alert.raised']);
  });

  // proves Subscriptions: alert_config.*
  test('is raised by the configured number of failures, not by fewer, older ones, or without a config', async () => {
    await newProject();
    const subscribeWith = (name: string, alert_config?: object) =>
      subscribe(project, `${receiver.url}/hook/${name}`, {
        endpoint: channels(),
        ...(alert_config !== undefined && { subscription: { alert_config } }),
      });
    const { subscription } = await subscribeWith('enough', { count: 3, threshold: '1m' });
    await subscribeWith('few', { count: 1000, threshold: '1m' });
    // Tries are a second apart.
    await subscribeWith('seldom', { count: 2, threshold: '100ms' });
    await subscribeWith('none');
    await send(1);
    await notices(1);
    for (const name of ['enough', 'few', 'seldom', 'none']) await receiver.received(3, `/hook/${name}`);
    status = 200;
    await notices(2);
    await allDelivered(4);
    expect(metaTypes().map(([type]) => type)).toEqual(['alert.raised', 'alert.cleared']);
    for (const { json } of receiver.at('/meta')) expect(json.data.subscription_id).toBe(subscription.uid);
    expect(receiver.at('/slack')).toHaveLength(2);
  });
});

test('an open breaker raises one alert and its closing clears it', async () => {
  await newProject({ circuit_breaker: { sample_rate: 1, error_timeout: 1, minimum_request_count: 5 } });
  await subscribe(project, `${receiver.url}/hook`, { endpoint: channels() });
  await send(10);
  await notices(1);
  // Probes fail and open it again, which is no news.
  await receiver.received(receiver.at('/hook').length + 2, '/hook');
  status = 200;
  await notices(2);
  await allDelivered(10);
  expect(metaTypes()).toEqual([
    ['alert.raised', 'breaker'],
    ['alert.cleared', 'breaker'],
  ]);
  const [raised, cleared] = receiver.at('/meta').map(({ json }) => json.data.endpoint);
  expect(raised).toMatchObject({ state: 'failing', held_by: 'circuit_breaker' });
  expect(cleared.held_by).toBe('');
  expect(await notices(2)).toEqual({ mail: 2, slack: 2, teams: 2, meta: 2 });
});

test('disabling an endpoint raises an alert, activation clears it, a second time raises it again; a pause raises none', async () => {
  await newProject();
  const { endpoint } = await subscribe(project, `${receiver.url}/hook`, { endpoint: channels() });
  status = 410;
  await send(3);
  await notices(1);
  expect(receiver.at('/slack')[0]?.json.text).toContain('it answered 410 Gone');
  await project.post(`/endpoints/${endpoint.uid}/activate`, {}, 202);
  await notices(2);
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  expect(metaTypes()).toEqual([
    ['alert.raised', 'disabled'],
    ['alert.cleared', 'disabled'],
  ]);
  expect(await notices(2)).toEqual({ mail: 2, slack: 2, teams: 2, meta: 2 });
  await send(3);
  await notices(3);
  expect(metaTypes()[2]).toEqual(['alert.raised', 'disabled']);
});

test('a dead mail server and a dead chat lose no delivery and are logged', async () => {
  const { log, lines, text } = linesOf('warn');
  const dead = await startTestApp(
    { POSTHORN_SMTP_URL: 'smtp://127.0.0.1:9', POSTHORN_SMTP_FROM: 'posthorn@example.com' },
    log,
  );
  try {
    ({ project } = dead);
    await subscribe(project, `${receiver.url}/hook`, {
      endpoint: { ...channels(), slack_webhook_url: 'http://127.0.0.1:9/the-slack-secret' },
      subscription: {
        alert_config: { count: 2, threshold: '1m' },
        retry_config: { type: 'linear', duration: '1s', retry_count: 20 },
      },
    });
    await send(5);
    const failed = (channel: string) => lines().filter((line) => line.channel === channel);
    await eventually(
      async () => [failed('mail').length, failed('slack').length],
      (counts) => counts.every((each) => each >= 2),
    );
    expect(failed('slack')[0]).toMatchObject({ msg: 'alert not sent; retrying', tries: 1 });
    expect(text()).not.toContain('the-slack-secret');
    status = 200;
    await allDelivered(5);
    expect(receiver.at('/teams').length).toBeGreaterThan(0);
  } finally {
    await dead.stop();
  }
});

test('one of many concurrent raises or clears of an alert wins', async () => {
  const { db } = app.app;
  const key = { subjectId: 'subject', kind: 'breaker', projectId: 'project' } as const;
  const winners = async (move: typeof raiseAlerts) =>
    (await Promise.all(Array.from({ length: 10 }, (_, n) => move(db, [key], n)))).flat().length;
  expect(await winners(clearAlerts)).toBe(0);
  expect(await winners(raiseAlerts)).toBe(1);
  expect(await winners(raiseAlerts)).toBe(0);
  expect(await winners(clearAlerts)).toBe(1);
  expect(await winners(raiseAlerts)).toBe(1);
});

describe('changes of state of one project at a time', () => {
  beforeEach(async () => {
    project = await app.newProject();
  });

  const stateOf = async () => {
    const [row] = await app.database.query(
      `select version, (select array_agg(kind order by kind) from alerts where project_id = p.id) as kinds
       from projects p where id = $1`,
      [project.projectId],
    );
    return row as { version: number; kinds: string[] | null };
  };

  test('are one commit and one version, of whatever kind they are', async () => {
    const { endpoint, subscription } = await subscribe(project, `${receiver.url}/hook`, {
      subscription: { alert_config: { count: 1, threshold: '1h' } },
    });
    const { changes, db } = app.app;
    const { cache } = changes.deps;
    const watch = new OutcomeWatch({
      db,
      cache,
      changes,
      databaseClock: Date,
      config: { certificateDays: 30 },
      guard: new ObserverGuard(quietLog, createMetrics().metrics.observerFaults),
      restartCap: () => {},
      log: quietLog,
    });
    const { projectId } = project;
    await cache.refresh(asId(projectId));
    const before = await stateOf();
    const server = { fingerprint: 'AB', subject: 'CN=hook', expiresAtMs: Date.now() };
    const outcome = { ...answered(410), certificates: { server, client: null } };
    const delivery = leasedDelivery({
      projectId,
      endpointId: endpoint.uid,
      subscriptionId: subscription.uid,
    });
    watch.attempted({
      ...back(delivery, 'gone'),
      verdict: 'gone',
      exchange: { outcome, requestBytes: 1, trace: null },
    });
    const source = { id: asId<SourceId>('source'), project_id: asId<ProjectId>(projectId), name: 's' };
    const raised = { kind: 'source', state: 'raised', summary: 'down', reason: 'down' } as const;
    await Promise.all([moveSourceAlert(changes, source, raised), watch.stop()]);
    expect(await stateOf()).toEqual({
      version: before.version + 1,
      kinds: ['certificate', 'disabled', 'failures', 'source'],
    });
  });

  test('are committed without the one that fails', async () => {
    const { states } = app.app.changes;
    const make = (work: () => Promise<[]>) =>
      states.join(asId(project.projectId), { isConfig: false, make: work });
    const before = await stateOf();
    const ended = await Promise.allSettled([
      make(async () => []),
      make(() => Promise.reject(new Error('broken'))),
      make(async () => []),
    ]);
    expect(ended.map(({ status: how }) => how)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((await stateOf()).version).toBe(before.version + 2);
  });
});
