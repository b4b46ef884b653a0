import { codeAt, stepAt } from '../../../src/people/totp.ts';
import { Listener } from '../../pull/listener.ts';
import type { TestApp } from '../../support/app.ts';
import { subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import type { Receiver } from '../../support/servers/receiver.ts';
import {
  member,
  PASSWORD,
  type SessionClient,
  setUpSecondFactor,
  tokenOf,
} from '../../support/session-client.ts';

/** One call of every operation that changes something, and what the audit log must say of it. */
export interface Scene {
  app: TestApp;
  receiver: Receiver;
  /** The project's own key. */
  keyId: string;
}

export interface Prepared {
  params?: Record<string, string>;
  body?: unknown;
  query?: string;
  /** The caller, if it is not the project's key. */
  client?: ApiClient;
  actor?: { type: string; uid?: string };
}

export interface Case {
  prepare?(scene: Scene): Promise<Prepared>;
  /** Each entry, oldest first: null stands for no resource, an object for part of it, `Number` for any number. */
  entries: { action: string; before: object | null; after: object | null }[];
}

const OWNER = 'owner';
let count = 0;
const unique = (what: string) => `${what} ${(count += 1)}`;

const newEndpoint = ({ app, receiver }: Scene, more: object = {}): Promise<Json> =>
  app.project.post('/endpoints', { name: 'old', url: `${receiver.url}/e`, owner_id: OWNER, ...more });

async function newSubscription(scene: Scene): Promise<{ subscriptionID: string; filterID: string }> {
  const { subscription } = await subscribe(scene.app.project, `${scene.receiver.url}/e`, {
    eventTypes: ['old.type'],
    endpoint: { owner_id: OWNER },
    subscription: { name: 'old' },
  });
  const [filter] = await scene.app.project.get(`/subscriptions/${subscription.uid}/filters`);
  return { subscriptionID: subscription.uid, filterID: filter.uid };
}

/** A delivery that has ended in the state that the path it went to leads to. */
async function ended({ app, receiver }: Scene, path: '/e' | '/fail'): Promise<Json> {
  const type = unique('type').replace(' ', '.');
  await subscribe(app.project, `${receiver.url}${path}`, {
    eventTypes: [type],
    endpoint: { owner_id: OWNER },
  });
  const event = await app.project.post('/events/broadcast', { event_type: type, data: {} });
  const { content } = await eventually(
    () => app.project.get(`/eventdeliveries?eventId=${event.uid}`),
    (page) => ['Success', 'Failure'].includes(page.content[0]?.status),
  );
  return content[0];
}

const newLink = ({ app }: Scene, more: object = {}): Promise<Json> =>
  app.project.post('/portal-links', { name: 'old', owner_id: OWNER, ...more });

const newJob = async ({ app }: Scene): Promise<Json> =>
  app.project.post('/eventdeliveries/cancel?endpointId=none', undefined, 200);

const oneEndpoint = async (scene: Scene): Promise<Prepared> => ({
  params: { endpointID: (await newEndpoint(scene)).uid },
});
const oneSource = async ({ app }: Scene): Promise<Prepared> => ({
  params: { sourceID: (await app.project.post('/sources', { name: 'old', type: 'rest_api' })).uid },
  body: { name: 'new', type: 'rest_api' },
});
const oneEventType = async ({ app }: Scene): Promise<Prepared> => ({
  params: {
    eventTypeID: (await app.project.post('/event-types', { name: unique('type'), description: 'old' })).uid,
  },
  body: { description: 'new' },
});
const changed = (action: string) => ({ action, before: { name: 'old' }, after: { name: 'new' } });
const project = {
  prepare: async () => ({ body: { name: unique('project'), logo_url: 'https://example.com/new' } }),
  entries: [
    {
      action: 'project.updated',
      before: { config: { max_payload_read_size: 1_048_576 } },
      after: { logo_url: 'https://example.com/new' },
    },
  ],
};
const source = { prepare: oneSource, entries: [changed('source.updated')] };
const filters = {
  prepare: async (scene: Scene) => {
    const { subscriptionID, filterID } = await newSubscription(scene);
    return { params: { subscriptionID, filterID }, body: [{ uid: filterID, body: { a: 1 } }] };
  },
  entries: [{ action: 'filter.updated', before: { own: {} }, after: { own: { body: { a: 1 } } } }],
};

/** By method and path, without the beginning that names the project or the portal. */
export const cases: Record<string, Case> = {
  'POST /api/v1/projects': {
    prepare: async ({ app }) => ({
      client: app.instance,
      body: { name: unique('project'), type: 'outgoing' },
    }),
    entries: [
      { action: 'project.created', before: null, after: { type: 'outgoing' } },
      { action: 'key.created', before: null, after: { mask: /^\w{16}$/ } },
    ],
  },
  'PUT ': project,
  'POST ': project,
  'DELETE ': {
    prepare: async ({ app }) => {
      const made = await app.instance.post('/projects', { name: unique('project'), type: 'incoming' });
      const client = new ApiClient(`${app.url}/api/v1/projects/${made.project.uid}`, made.api_key.key);
      return {
        params: { projectID: made.project.uid },
        client,
        actor: { type: 'api_key', uid: made.api_key.uid },
      };
    },
    entries: [{ action: 'project.deleted', before: { type: 'incoming' }, after: null }],
  },
  'POST /keys': {
    prepare: async () => ({ body: { name: 'new', expires_at: '2999-01-01T00:00:00Z' } }),
    entries: [
      {
        action: 'key.created',
        before: null,
        after: { name: 'new', expires_at: '2999-01-01T00:00:00.000Z', revoked_at: null },
      },
    ],
  },
  'DELETE /keys/{keyID}': {
    prepare: async ({ app }) => ({
      params: { keyID: (await app.project.post('/keys', { name: 'old' })).uid },
    }),
    entries: [{ action: 'key.revoked', before: { name: 'old', revoked_at: null }, after: null }],
  },
  'POST /endpoints': {
    prepare: async ({ receiver }) => ({ body: { name: 'new', url: receiver.url } }),
    entries: [{ action: 'endpoint.created', before: null, after: { name: 'new', status: 'active' } }],
  },
  'PUT /endpoints/{endpointID}': {
    prepare: async (scene) => ({
      ...(await oneEndpoint(scene)),
      body: { name: 'new', url: scene.receiver.url },
    }),
    entries: [changed('endpoint.updated')],
  },
  'DELETE /endpoints/{endpointID}': {
    prepare: async (scene) => {
      const { endpoint } = await subscribe(scene.app.project, scene.receiver.url, {
        endpoint: { owner_id: OWNER, name: 'old' },
      });
      return { params: { endpointID: endpoint.uid } };
    },
    entries: [
      { action: 'endpoint.deleted', before: { name: 'old' }, after: null },
      { action: 'subscription.deleted', before: { name: 'subscription' }, after: null },
    ],
  },
  'PUT /endpoints/{endpointID}/pause': {
    prepare: oneEndpoint,
    entries: [{ action: 'endpoint.paused', before: { status: 'active' }, after: { status: 'paused' } }],
  },
  'POST /endpoints/{endpointID}/activate': {
    prepare: async (scene) => {
      const { uid } = await newEndpoint(scene);
      await scene.app.project.put(`/endpoints/${uid}/pause`);
      return { params: { endpointID: uid } };
    },
    entries: [{ action: 'endpoint.activated', before: { status: 'paused' }, after: { status: 'active' } }],
  },
  'PUT /endpoints/{endpointID}/expire_secret': {
    prepare: async (scene) => ({ ...(await oneEndpoint(scene)), body: { expiration: 60 } }),
    entries: [
      {
        action: 'endpoint.secret_rolled',
        before: { secret: { secrets: [{ value: '[secret]', expires_at: null }] } },
        after: {
          secret: {
            secrets: [
              { value: '[secret]', expires_at: /^20/ },
              { value: '[secret]', expires_at: null },
            ],
          },
        },
      },
    ],
  },
  'POST /endpoints/{endpointID}/test': {
    prepare: oneEndpoint,
    entries: [{ action: 'subscription.created', before: null, after: { event_types: ['*'] } }],
  },
  'POST /sources': {
    prepare: async () => ({ body: { name: 'new', type: 'rest_api' } }),
    entries: [{ action: 'source.created', before: null, after: { name: 'new' } }],
  },
  'PUT /sources/{sourceID}': source,
  'POST /sources/{sourceID}': source,
  'DELETE /sources/{sourceID}': {
    prepare: async (scene) => {
      const prepared = await oneSource(scene);
      await subscribe(scene.app.project, scene.receiver.url, {
        subscription: { source_id: prepared.params?.['sourceID'] },
      });
      return { params: prepared.params ?? {} };
    },
    entries: [
      { action: 'source.deleted', before: { name: 'old' }, after: null },
      { action: 'subscription.deleted', before: { name: 'subscription' }, after: null },
    ],
  },
  'POST /subscriptions': {
    prepare: async (scene) => ({ body: { name: 'new', endpoint_id: (await newEndpoint(scene)).uid } }),
    entries: [{ action: 'subscription.created', before: null, after: { name: 'new' } }],
  },
  'PUT /subscriptions/{subscriptionID}': {
    prepare: async (scene) => ({ params: await newSubscription(scene), body: { name: 'new' } }),
    entries: [changed('subscription.updated')],
  },
  'DELETE /subscriptions/{subscriptionID}': {
    prepare: async (scene) => ({ params: await newSubscription(scene) }),
    entries: [{ action: 'subscription.deleted', before: { name: 'old' }, after: null }],
  },
  'PUT /subscriptions/{subscriptionID}/toggle_status': {
    prepare: async (scene) => ({ params: await newSubscription(scene) }),
    entries: [
      { action: 'subscription.deactivated', before: { status: 'active' }, after: { status: 'inactive' } },
    ],
  },
  'POST /subscriptions/{subscriptionID}/filters': {
    prepare: async (scene) => ({
      params: await newSubscription(scene),
      body: { event_type: 'more.*', body: { a: 1 } },
    }),
    entries: [{ action: 'filter.created', before: null, after: { event_type: 'more.*' } }],
  },
  'PUT /subscriptions/{subscriptionID}/filters/{filterID}': {
    prepare: async (scene) => ({ params: await newSubscription(scene), body: { body: { a: 1 } } }),
    entries: [{ action: 'filter.updated', before: { own: {} }, after: { own: { body: { a: 1 } } } }],
  },
  'DELETE /subscriptions/{subscriptionID}/filters/{filterID}': {
    prepare: async (scene) => ({ params: await newSubscription(scene) }),
    entries: [{ action: 'filter.deleted', before: { event_type: 'old.type' }, after: null }],
  },
  'POST /subscriptions/{subscriptionID}/filters/bulk': {
    prepare: async (scene) => ({
      params: await newSubscription(scene),
      body: [{ event_type: 'one.*' }, { event_type: 'two.*' }],
    }),
    entries: [
      { action: 'filter.created', before: null, after: { event_type: 'one.*' } },
      { action: 'filter.created', before: null, after: { event_type: 'two.*' } },
    ],
  },
  'PUT /subscriptions/{subscriptionID}/filters/bulk_update': filters,
  'POST /subscriptions/{subscriptionID}/filters/bulk_update': filters,
  'POST /failures/mutes': {
    prepare: async (scene) => ({
      body: { endpoint_id: (await newEndpoint(scene)).uid, outcome: 'http_500' },
    }),
    entries: [{ action: 'failures.muted', before: null, after: { outcome: 'http_500' } }],
  },
  'DELETE /failures/mutes/{muteID}': {
    prepare: async (scene) => {
      const group = { endpoint_id: (await newEndpoint(scene)).uid, outcome: 'http_500' };
      return { params: { muteID: (await scene.app.project.post('/failures/mutes', group)).uid } };
    },
    entries: [{ action: 'failures.unmuted', before: { outcome: 'http_500' }, after: null }],
  },
  'POST /views': {
    prepare: async () => ({ body: { page: 'deliveries', name: unique('view'), query: 'status=Failure' } }),
    entries: [{ action: 'view.saved', before: null, after: { query: 'status=Failure' } }],
  },
  'DELETE /views/{viewID}': {
    prepare: async ({ app }) => {
      const view = { page: 'deliveries', name: unique('view'), query: 'status=Failure' };
      return { params: { viewID: (await app.project.post('/views', view)).uid } };
    },
    entries: [{ action: 'view.deleted', before: { query: 'status=Failure' }, after: null }],
  },
  'POST /event-types': {
    prepare: async () => ({ body: { name: unique('type'), description: 'new' } }),
    entries: [{ action: 'event_type.created', before: null, after: { description: 'new' } }],
  },
  'PUT /event-types/{eventTypeID}': {
    prepare: oneEventType,
    entries: [
      { action: 'event_type.updated', before: { description: 'old' }, after: { description: 'new' } },
    ],
  },
  'POST /event-types/{eventTypeID}/deprecate': {
    prepare: oneEventType,
    entries: [
      { action: 'event_type.deprecated', before: { deprecated_at: null }, after: { deprecated_at: /^20/ } },
    ],
  },
  'POST /event-types/import': {
    prepare: async ({ app }) => {
      const [known, added] = [unique('a'), unique('b')];
      await app.project.post('/event-types', { name: known, description: 'old' });
      const webhook = { post: { description: 'new' } };
      const spec = { openapi: '3.1.0', webhooks: { [known]: webhook, [added]: webhook } };
      return { body: { spec: JSON.stringify(spec) } };
    },
    entries: [
      { action: 'event_type.updated', before: { description: 'old' }, after: { description: 'new' } },
      { action: 'event_type.created', before: null, after: { description: 'new' } },
    ],
  },
  'POST /events': {
    prepare: async (scene) => ({
      body: { endpoint_id: (await newEndpoint(scene)).uid, event_type: 'x', data: {} },
    }),
    entries: [{ action: 'subscription.created', before: null, after: { event_types: ['*'] } }],
  },
  'POST /events/dynamic': {
    prepare: async ({ receiver }) => ({
      body: { url: `${receiver.url}/${unique('dynamic').replace(' ', '')}`, event_type: 'x', data: {} },
    }),
    entries: [
      { action: 'endpoint.created', before: null, after: { status: 'active' } },
      { action: 'subscription.created', before: null, after: { event_types: ['*'] } },
    ],
  },
  'PUT /events/{eventID}/replay': {
    prepare: async (scene) => ({ params: { eventID: (await ended(scene, '/e')).event_id } }),
    entries: [{ action: 'event.replayed', before: null, after: { deliveries: Number } }],
  },
  'POST /events/batchreplay': {
    prepare: async (scene) => ({ query: `?endpointId=${(await newEndpoint(scene)).uid}` }),
    entries: [
      {
        action: 'job.started',
        before: null,
        after: { type: 'batch_replay', filter: { endpointIds: [/^\w{26}$/] } },
      },
    ],
  },
  'PUT /eventdeliveries/{eventDeliveryID}/resend': {
    prepare: async (scene) => ({ params: { eventDeliveryID: (await ended(scene, '/fail')).uid } }),
    entries: [
      { action: 'event_delivery.resent', before: { status: 'Failure' }, after: { status: 'Scheduled' } },
    ],
  },
  'POST /eventdeliveries/forceresend': {
    prepare: async (scene) => ({ body: { ids: [(await ended(scene, '/e')).uid] } }),
    entries: [{ action: 'event_delivery.force_resent', before: null, after: { ids: [/^\w{26}$/] } }],
  },
  'POST /eventdeliveries/batchretry': {
    prepare: async () => ({ query: '?eventType=x' }),
    entries: [
      { action: 'job.started', before: null, after: { type: 'batch_retry', filter: { eventType: 'x' } } },
    ],
  },
  'POST /eventdeliveries/cancel': {
    prepare: async () => ({ query: '?eventType=x' }),
    entries: [
      { action: 'job.started', before: null, after: { type: 'batch_cancel', filter: { eventType: 'x' } } },
    ],
  },
  'PUT /jobs/{jobID}/cancel': {
    prepare: async (scene) => ({ params: { jobID: (await newJob(scene)).uid } }),
    entries: [{ action: 'job.cancelled', before: null, after: { type: 'batch_cancel', done: 0 } }],
  },
  'POST /onboard': {
    prepare: async ({ receiver }) => ({ body: { items: [{ name: 'new', url: receiver.url }] } }),
    entries: [{ action: 'job.started', before: null, after: { type: 'onboard', total: 1 } }],
  },
  'POST /portal-links': {
    prepare: async (scene) => ({
      body: {
        name: 'new',
        owner_id: 'another',
        endpoints: [(await newEndpoint(scene, { owner_id: '' })).uid],
      },
    }),
    entries: [
      { action: 'portal_link.created', before: null, after: { name: 'new', owner_id: 'another' } },
      { action: 'endpoint.updated', before: { owner_id: '' }, after: { owner_id: 'another' } },
    ],
  },
  'PUT /portal-links/{portalLinkID}': {
    prepare: async (scene) => ({
      params: { portalLinkID: (await newLink(scene)).uid },
      body: { name: 'new', owner_id: OWNER },
    }),
    entries: [changed('portal_link.updated')],
  },
  'PUT /portal-links/{portalLinkID}/revoke': {
    prepare: async (scene) => ({ params: { portalLinkID: (await newLink(scene)).uid } }),
    entries: [{ action: 'portal_link.revoked', before: { name: 'old' }, after: null }],
  },
  'GET /portal-links/{portalLinkID}/refresh_token': {
    prepare: async (scene) => ({
      params: { portalLinkID: (await newLink(scene, { auth_type: 'refresh_token' })).uid },
    }),
    entries: [{ action: 'portal_link.token_made', before: { name: 'old' }, after: { name: 'old' } }],
  },
  'PUT /meta-events/{metaEventID}/resend': {
    prepare: async ({ app }) => {
      const { content } = await eventually(
        () => app.project.get('/meta-events'),
        (page) => page.content.length > 0,
      );
      return { params: { metaEventID: content[0].uid } };
    },
    entries: [{ action: 'meta_event.resent', before: null, after: { event_type: /^endpoint/ } }],
  },
};

const instanceKey = { type: 'instance_key' };
const anyone = ({ app }: Scene) => new ApiClient(app.url, '');
const newEmail = () => `${unique('person').replace(' ', '-')}@audit.example.com`;

/** A person in the default project, whose session makes the call. */
async function asMember({ app }: Scene): Promise<Prepared & { client: SessionClient; email: string }> {
  const { client, uid, email } = await member(app, 'admin');
  return { client: client.at(app.url), actor: { type: 'person', uid }, email };
}

const signedIn = (method: string) => ({ action: 'person.signed_in', before: null, after: { method } });
const linkMade = (purpose: string) => ({ action: 'person.link_made', before: null, after: { purpose } });

/** A session of an account with a second factor, and a code that was not used yet. */
async function withSecondFactor(scene: Scene): Promise<Prepared> {
  const prepared = await asMember(scene);
  const { client, recoveryCodes } = await setUpSecondFactor(prepared.client);
  return { ...prepared, client, body: { code: recoveryCodes[0] } };
}

Object.assign(cases, {
  'POST /auth/sign-in': {
    prepare: async (scene) => {
      const { email, actor } = await asMember(scene);
      return { client: anyone(scene), actor: actor ?? instanceKey, body: { email, password: PASSWORD } };
    },
    entries: [signedIn('password')],
  },
  'POST /auth/sign-out': {
    prepare: asMember,
    entries: [{ action: 'session.ended', before: { method: 'link' }, after: null }],
  },
  'POST /auth/link': {
    prepare: async (scene) => {
      const { person, link } = await scene.app.instance.post('/people', { email: newEmail() });
      const body = { token: tokenOf(link), password: PASSWORD };
      return { client: anyone(scene), actor: { type: 'person', uid: person.uid }, body };
    },
    entries: [
      signedIn('link'),
      { action: 'person.link_used', before: { name: '' }, after: { purpose: 'invitation' } },
    ],
  },
  'DELETE /auth/sessions/{sessionID}': {
    prepare: async (scene) => {
      const prepared = await asMember(scene);
      const other = await anyone(scene).raw('POST', '/auth/sign-in', {
        body: { email: prepared.email, password: PASSWORD },
      });
      return { ...prepared, params: { sessionID: ((await other.json()) as Json).data.session.uid } };
    },
    entries: [{ action: 'session.ended', before: { method: 'password' }, after: null }],
  },
  'DELETE /auth/sessions': {
    prepare: async (scene) => {
      const prepared = await asMember(scene);
      const body = { email: prepared.email, password: PASSWORD };
      await anyone(scene).post('/auth/sign-in', body, 200);
      return prepared;
    },
    entries: [{ action: 'session.ended', before: { method: 'password' }, after: null }],
  },
  'DELETE /devices/{deviceID}': {
    prepare: async ({ app }) => {
      const listener = await Listener.start(app.project, { host_name: unique('laptop') });
      await listener.close();
      return { params: { deviceID: listener.of('ready')[0].device.uid } };
    },
    entries: [{ action: 'device.deleted', before: { host_name: /^laptop/ }, after: null }],
  },
  'PUT /auth/me': {
    prepare: async (scene) => ({ ...(await asMember(scene)), body: { name: 'new' } }),
    entries: [{ action: 'person.updated', before: { name: 'Person' }, after: { name: 'new' } }],
  },
  'PUT /auth/password': {
    prepare: async (scene) => ({
      ...(await asMember(scene)),
      body: { current_password: PASSWORD, new_password: `${PASSWORD} more` },
    }),
    entries: [{ action: 'person.password_changed', before: null, after: null }, signedIn('password')],
  },
  'POST /auth/second-factor/confirm': {
    prepare: async (scene) => {
      const prepared = await asMember(scene);
      const { secret } = await prepared.client.post('/auth/second-factor/begin');
      return { ...prepared, body: { code: codeAt(secret, stepAt(Date.now())) } };
    },
    entries: [{ action: 'person.second_factor_on', before: null, after: null }, signedIn('second factor')],
  },
  'POST /auth/second-factor': {
    prepare: withSecondFactor,
    entries: [signedIn('second factor')],
  },
  'POST /auth/second-factor/remove': {
    prepare: withSecondFactor,
    entries: [{ action: 'person.second_factor_off', before: null, after: null }],
  },
  'POST /auth/second-factor/recovery-codes': {
    prepare: withSecondFactor,
    entries: [{ action: 'person.recovery_codes_made', before: null, after: null }],
  },
  'PUT /people/{personID}': {
    prepare: async ({ app }) => ({
      params: { personID: (await member(app, 'viewer')).uid },
      body: { role: 'developer' },
    }),
    entries: [{ action: 'person.role_changed', before: { role: 'viewer' }, after: { role: 'developer' } }],
  },
  'DELETE /people/{personID}': {
    prepare: async ({ app }) => ({ params: { personID: (await member(app, 'viewer')).uid } }),
    entries: [{ action: 'person.left', before: { role: 'viewer' }, after: null }],
  },
  'PUT /api/v1/people/{personID}': {
    prepare: async ({ app }) => ({
      client: app.instance,
      actor: instanceKey,
      params: { personID: (await member(app, 'viewer')).uid },
      body: { is_active: false },
    }),
    entries: [
      { action: 'person.updated', before: { deactivated_at: null }, after: { deactivated_at: /Z$/ } },
    ],
  },
  'POST /people': {
    prepare: async () => ({ body: { email: newEmail(), role: 'viewer' } }),
    entries: [
      { action: 'person.created', before: null, after: { is_instance_admin: false } },
      { action: 'person.joined', before: null, after: { role: 'viewer' } },
      linkMade('invitation'),
    ],
  },
  'POST /api/v1/people': {
    prepare: async ({ app }) => {
      const { email } = await member(app, 'viewer');
      return { client: app.instance, actor: instanceKey, body: { email } };
    },
    entries: [
      { action: 'person.updated', before: { is_instance_admin: false }, after: { is_instance_admin: true } },
    ],
  },
  'POST /api/v1/sign-in-links': {
    prepare: async ({ app }) => {
      const { email } = await member(app, 'viewer');
      return { client: app.instance, actor: instanceKey, body: { email, purpose: 'reset' } };
    },
    entries: [linkMade('reset')],
  },
} satisfies Record<string, Case>);

/** Operations that may be called without leaving an entry, and why. */
export const exempt: Record<string, string> = {
  'POST /events/broadcast': 'plain events are not audited: they have lists of their own',
  'POST /events/fanout': 'plain events are not audited: they have lists of their own',
  'POST /endpoints/oauth2/test': 'stores nothing',
  'POST /endpoints/test': 'stores nothing',
  'POST /endpoints/{endpointID}/pull': 'deliveries are not audited: they have lists of their own',
  'POST /endpoints/{endpointID}/pull/results': 'deliveries are not audited: they have lists of their own',
  'POST /subscriptions/test_filter': 'stores nothing',
  'POST /subscriptions/test_function': 'stores nothing',
  'POST /sources/test_function': 'stores nothing',
  'POST /sources/{sourceID}/test_connection': 'stores nothing',
  'POST /auth/link/check': 'stores nothing',
  'POST /auth/reset': 'needs a mail server: see test/people/people.test.ts',
  'POST /auth/second-factor/begin': 'a secret that was never used does nothing',
  'POST /subscriptions/{subscriptionID}/preview': 'stores nothing',
  'POST /subscriptions/{subscriptionID}/filters/test/{eventType}': 'stores nothing',
};
