import { subscribe } from '../app.ts';
import { ApiClient } from '../client.ts';
import { created, deleted, type OperationCase, OWNER, updated } from './scene.ts';
import { newEndpoint, newLink, newPullEndpoint, unique } from './things.ts';

/** Operations on projects and their config. */
const renamed = (action: string) => updated(action, { name: 'old' }, { name: 'new' });
const PASS_ON = 'function transform(payload) { return payload; }';
const STORES_NOTHING = 'stores nothing';

const projects: Record<string, OperationCase> = {
  createProject: {
    prepare: () => ({ body: { name: unique('project'), type: 'outgoing' } }),
    audit: [created('project.created', { type: 'outgoing' }), created('key.created', { mask: /^\w{16}$/ })],
  },
  updateProject: {
    prepare: () => ({ body: { name: unique('project'), logo_url: 'https://example.com/new' } }),
    audit: [
      updated(
        'project.updated',
        { config: { max_payload_read_size: 1_048_576 } },
        { logo_url: 'https://example.com/new' },
      ),
    ],
  },
  deleteProject: {
    prepare: async ({ app }) => {
      const made = await app.instance.post('/projects', { name: unique('project'), type: 'incoming' });
      return {
        params: { projectID: made.project.uid },
        by: {
          caller: new ApiClient(app.url, made.api_key.key),
          actor: { type: 'api_key', uid: made.api_key.uid },
        },
      };
    },
    audit: [deleted('project.deleted', { type: 'incoming' })],
  },
  createKey: {
    prepare: () => ({ body: { name: 'new', expires_at: '2999-01-01T00:00:00Z' } }),
    audit: [
      created('key.created', { name: 'new', expires_at: '2999-01-01T00:00:00.000Z', revoked_at: null }),
    ],
  },
  rollSigningKey: {
    prepare: () => ({ body: { expiration: 0 } }),
    audit: [created('signing_key.created', { public_key: /^whpk_/, expires_at: null })],
  },
  deleteSigningKey: {
    prepare: async ({ project }) => {
      const { kid } = await project.post('/signing_keys', { expiration: 0 });
      return { params: { kid } };
    },
    audit: [deleted('signing_key.deleted', { public_key: /^whpk_/ })],
  },
  revokeKey: { audit: [deleted('key.revoked', { name: 'old', revoked_at: null })] },
};

const endpoints: Record<string, OperationCase> = {
  createEndpoint: {
    prepare: ({ receiver }) => ({ body: { name: 'new', url: receiver.url } }),
    audit: [created('endpoint.created', { name: 'new', status: 'active' })],
  },
  updateEndpoint: {
    prepare: ({ receiver }) => ({ body: { name: 'new', url: receiver.url } }),
    audit: [renamed('endpoint.updated')],
  },
  deleteEndpoint: {
    prepare: async ({ project, receiver }) => {
      const { endpoint } = await subscribe(project, receiver.url, {
        endpoint: { owner_id: OWNER, name: 'old' },
      });
      return { params: { endpointID: endpoint.uid } };
    },
    audit: [
      deleted('endpoint.deleted', { name: 'old' }),
      deleted('subscription.deleted', { name: 'subscription' }),
    ],
  },
  pauseEndpoint: { audit: [updated('endpoint.paused', { status: 'active' }, { status: 'paused' })] },
  activateEndpoint: {
    prepare: async (scene) => {
      const { uid } = await newEndpoint(scene);
      await scene.project.put(`/endpoints/${uid}/pause`);
      return { params: { endpointID: uid } };
    },
    audit: [updated('endpoint.activated', { status: 'paused' }, { status: 'active' })],
  },
  verifyEndpoint: {
    prepare: async (scene) => {
      const { uid } = await newEndpoint(scene, { url: `${scene.receiver.url}/challenge` });
      // By a call of the API the endpoint would be verified at once.
      await scene.app.database.query(`update endpoints set verification = 'challenge' where id = $1`, [uid]);
      return { params: { endpointID: uid } };
    },
    audit: [updated('endpoint.activated', { verified_url: '' }, { verified_url: /challenge$/ })],
  },
  expireSecret: {
    prepare: () => ({ body: { expiration: 60 } }),
    audit: [
      updated(
        'endpoint.secret_rolled',
        { secret: { secrets: [{ value: '[secret]', expires_at: null }] } },
        {
          secret: {
            secrets: [
              { value: '[secret]', expires_at: /^20/ },
              { value: '[secret]', expires_at: null },
            ],
          },
        },
      ),
    ],
  },
  testEndpoint: { audit: [created('subscription.created', { event_types: ['*'] })] },
  tryEndpoint: {
    prepare: ({ receiver }) => ({ body: { endpoint: { url: receiver.url } } }),
    audit: STORES_NOTHING,
  },
  testOAuth2: {
    prepare: ({ receiver }) => ({
      body: {
        oauth2: {
          url: `${receiver.url}/token`,
          client_id: 'c',
          grant_type: 'client_credentials',
          authentication_type: 'shared_secret',
          client_secret: 's',
        },
      },
    }),
    audit: STORES_NOTHING,
  },
  getPeriodFailureRates: {
    prepare: async (scene) => ({ query: { endpointId: (await newEndpoint(scene)).uid } }),
  },
  pullEndpoint: {
    prepare: async (scene) => ({
      params: { endpointID: await newPullEndpoint(scene) },
      body: { wait_seconds: 30 },
    }),
    audit: 'deliveries are not audited: they have lists of their own',
  },
  reportResults: {
    prepare: async (scene) => {
      const endpointID = await newPullEndpoint(scene);
      const { deliveries } = await scene.project.post(
        `/endpoints/${endpointID}/pull`,
        { wait_seconds: 30 },
        200,
      );
      const [{ uid, lease }] = deliveries;
      return { params: { endpointID }, body: { results: [{ uid, lease, ok: true }] } };
    },
    audit: 'deliveries are not audited: they have lists of their own',
  },
  deleteDevice: { audit: [deleted('device.deleted', { host_name: /^laptop/ })] },
  onboard: {
    prepare: ({ receiver }) => ({ body: { items: [{ name: 'new', url: receiver.url }] } }),
    audit: [created('job.started', { type: 'onboard', total: 1 })],
  },
};

const KAFKA = { brokers: ['127.0.0.1:1'], consumer_group_id: 'g', topic_name: 't' };

const sources: Record<string, OperationCase> = {
  createSource: {
    prepare: () => ({ body: { name: 'new', type: 'rest_api' } }),
    audit: [created('source.created', { name: 'new' })],
  },
  updateSource: {
    prepare: () => ({ body: { name: 'new', type: 'rest_api' } }),
    audit: [renamed('source.updated')],
  },
  deleteSource: {
    prepare: async ({ project, receiver }) => {
      const { uid } = await project.post('/sources', { name: 'old', type: 'rest_api' });
      await subscribe(project, receiver.url, { subscription: { source_id: uid } });
      return { params: { sourceID: uid } };
    },
    audit: [
      deleted('source.deleted', { name: 'old' }),
      deleted('subscription.deleted', { name: 'subscription' }),
    ],
  },
  testSourceFunction: {
    prepare: () => ({ body: { payload: { a: 1 }, function: PASS_ON } }),
    audit: STORES_NOTHING,
  },
  testSourceConnection: {
    prepare: async ({ project }) => {
      const pub_sub = { type: 'kafka', workers: 1, kafka: KAFKA };
      const source = { name: 'old', type: 'pub_sub', is_disabled: true, pub_sub };
      return { params: { sourceID: (await project.post('/sources', source)).uid } };
    },
    audit: STORES_NOTHING,
  },
};

const subscriptions: Record<string, OperationCase> = {
  createSubscription: {
    prepare: async (scene) => ({ body: { name: 'new', endpoint_id: (await newEndpoint(scene)).uid } }),
    audit: [created('subscription.created', { name: 'new' })],
  },
  updateSubscription: {
    prepare: () => ({ body: { name: 'new' } }),
    audit: [renamed('subscription.updated')],
  },
  deleteSubscription: { audit: [deleted('subscription.deleted', { name: 'old' })] },
  toggleSubscriptionStatus: {
    audit: [updated('subscription.deactivated', { status: 'active' }, { status: 'inactive' })],
  },
  testFilter: {
    prepare: () => ({ body: { request: { body: { a: 1 } }, schema: { body: { a: 2 } } } }),
    audit: STORES_NOTHING,
  },
  testSubscriptionFunction: {
    prepare: () => ({ body: { payload: { a: 1 }, function: PASS_ON } }),
    audit: STORES_NOTHING,
  },
  previewSubscription: { prepare: () => ({ body: {} }), audit: STORES_NOTHING },
};

const filters: Record<string, OperationCase> = {
  createFilter: {
    prepare: () => ({ body: { event_type: 'more.*', body: { a: 1 } } }),
    audit: [created('filter.created', { event_type: 'more.*' })],
  },
  updateFilter: {
    prepare: () => ({ body: { body: { a: 1 } } }),
    audit: [updated('filter.updated', { own: {} }, { own: { body: { a: 1 } } })],
  },
  deleteFilter: { audit: [deleted('filter.deleted', { event_type: 'old.type' })] },
  createFilters: {
    prepare: () => ({ body: [{ event_type: 'one.*' }, { event_type: 'two.*' }] }),
    audit: [
      created('filter.created', { event_type: 'one.*' }),
      created('filter.created', { event_type: 'two.*' }),
    ],
  },
  updateFilters: {
    prepare: async ({ project, receiver }) => {
      const { subscription } = await subscribe(project, receiver.url, { endpoint: { owner_id: OWNER } });
      const [{ uid }] = await project.get(`/subscriptions/${subscription.uid}/filters`);
      return {
        params: { subscriptionID: subscription.uid, filterID: uid },
        body: [{ uid, body: { a: 1 } }],
      };
    },
    audit: [updated('filter.updated', { own: {} }, { own: { body: { a: 1 } } })],
  },
  tryFilters: { prepare: () => ({ body: { payload: { a: 3 } } }), audit: STORES_NOTHING },
};

const eventTypes: Record<string, OperationCase> = {
  createEventType: {
    prepare: () => ({ body: { name: unique('type'), description: 'new' } }),
    audit: [created('event_type.created', { description: 'new' })],
  },
  updateEventType: {
    prepare: () => ({ body: { description: 'new' } }),
    audit: [updated('event_type.updated', { description: 'old' }, { description: 'new' })],
  },
  deprecateEventType: {
    audit: [updated('event_type.deprecated', { deprecated_at: null }, { deprecated_at: /^20/ })],
  },
  importEventTypes: {
    prepare: async ({ project }) => {
      const [known, added] = [unique('a'), unique('b')];
      await project.post('/event-types', { name: known, description: 'old' });
      const webhook = { post: { description: 'new' } };
      const spec = { openapi: '3.1.0', webhooks: { [known]: webhook, [added]: webhook } };
      return { body: { spec: JSON.stringify(spec) } };
    },
    audit: [
      updated('event_type.updated', { description: 'old' }, { description: 'new' }),
      created('event_type.created', { description: 'new' }),
    ],
  },
};

const portalLinks: Record<string, OperationCase> = {
  createPortalLink: {
    prepare: async (scene) => {
      const { uid } = await newEndpoint(scene, { owner_id: '' });
      return { body: { name: 'new', owner_id: 'another', endpoints: [uid] } };
    },
    audit: [
      created('portal_link.created', { name: 'new', owner_id: 'another' }),
      updated('endpoint.updated', { owner_id: '' }, { owner_id: 'another' }),
    ],
  },
  updatePortalLink: {
    prepare: () => ({ body: { name: 'new', owner_id: OWNER } }),
    audit: [renamed('portal_link.updated')],
  },
  revokePortalLink: { audit: [deleted('portal_link.revoked', { name: 'old' })] },
  refreshPortalLinkToken: {
    prepare: async (scene) => ({
      params: { portalLinkID: (await newLink(scene, { auth_type: 'refresh_token' })).uid },
    }),
    audit: [updated('portal_link.token_made', { name: 'old' }, { name: 'old' })],
  },
};

export const configCases: Record<string, OperationCase> = {
  ...projects,
  ...endpoints,
  ...sources,
  ...subscriptions,
  ...filters,
  ...eventTypes,
  ...portalLinks,
};
