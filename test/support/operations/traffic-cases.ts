import { created, deleted, type OperationCase, OWNER, updated } from './scene.ts';
import { ended, heldKey, newEndpoint, unique } from './things.ts';

/** Operations on events and deliveries, and those that watch them. */
const PLAIN_EVENT = 'plain events are not audited: they have lists of their own';
const EVENT = { event_type: 'x', data: {} };
const jobStarted = (type: string, filter: object) => created('job.started', { type, filter });

const events: Record<string, OperationCase> = {
  createEvent: {
    prepare: async (scene) => ({ body: { ...EVENT, endpoint_id: (await newEndpoint(scene)).uid } }),
    audit: [created('subscription.created', { event_types: ['*'] })],
  },
  broadcastEvent: { prepare: () => ({ body: EVENT }), audit: PLAIN_EVENT },
  fanoutEvent: { prepare: () => ({ body: { ...EVENT, owner_id: OWNER } }), audit: PLAIN_EVENT },
  dynamicEvent: {
    prepare: ({ receiver }) => ({ body: { ...EVENT, url: `${receiver.url}/${unique('dynamic')}` } }),
    audit: [
      created('endpoint.created', { status: 'active' }),
      created('subscription.created', { event_types: ['*'] }),
    ],
  },
  batchEvents: {
    prepare: () => ({ body: { events: [{ ...EVENT, kind: 'broadcast' }] } }),
    audit: PLAIN_EVENT,
  },
  replayEvent: { audit: [created('event.replayed', { deliveries: Number })] },
  rescheduleEvent: {
    prepare: async (scene) => {
      const endpoint_id = (await newEndpoint(scene)).uid;
      const event = await scene.project.post('/events', { ...EVENT, endpoint_id, delay_seconds: 3_600 });
      return { params: { eventID: event.uid }, body: { delay_seconds: 7_200 } };
    },
    audit: [updated('event.rescheduled', { deliver_at: /Z$/ }, { deliver_at: /Z$/ })],
  },
  batchReplayEvents: {
    prepare: async (scene) => ({ query: { endpointId: (await newEndpoint(scene)).uid } }),
    audit: [jobStarted('batch_replay', { endpointIds: [/^\w{26}$/] })],
  },
};

const deliveries: Record<string, OperationCase> = {
  resendEventDelivery: {
    prepare: async (scene) => ({ params: { eventDeliveryID: (await ended(scene, '/fail')).uid } }),
    audit: [updated('event_delivery.resent', { status: 'Failure' }, { status: 'Scheduled' })],
  },
  forceResendEventDeliveries: {
    prepare: async (scene) => ({ body: { ids: [(await ended(scene, '/e')).uid] } }),
    audit: [created('event_delivery.force_resent', { ids: [/^\w{26}$/] })],
  },
  batchRetryEventDeliveries: {
    prepare: () => ({ query: { eventType: 'x' } }),
    audit: [jobStarted('batch_retry', { eventType: 'x' })],
  },
  sendNowEventDeliveries: {
    // A pull endpoint of the scene has deliveries of the other types, which would be refused.
    prepare: () => ({ query: { eventType: 'waits' } }),
    audit: [jobStarted('send_now', { eventType: 'waits' })],
  },
  skipOrderingKeys: {
    prepare: async (scene) => ({ body: { ids: [await heldKey(scene)] } }),
    audit: [created('ordering_keys.skipped', { ids: [/^\w{26}:$/] })],
  },
  cancelEventDeliveries: {
    prepare: () => ({ query: { eventType: 'x' } }),
    audit: [jobStarted('batch_cancel', { eventType: 'x' })],
  },
};

const watching: Record<string, OperationCase> = {
  muteFailures: {
    prepare: async (scene) => ({
      body: { endpoint_id: (await newEndpoint(scene)).uid, outcome: 'http_500' },
    }),
    audit: [created('failures.muted', { outcome: 'http_500' })],
  },
  unmuteFailures: { audit: [deleted('failures.unmuted', { outcome: 'http_500' })] },
  saveView: {
    prepare: () => ({ body: { page: 'deliveries', name: unique('view'), query: 'status=Failure' } }),
    audit: [created('view.saved', { query: 'status=Failure' })],
  },
  deleteView: { audit: [deleted('view.deleted', { query: 'status=Failure' })] },
  getJob: {
    // A portal link sees the jobs that it started.
    prepare: async ({ holder }) => ({
      params: { jobID: (await holder.post('/eventdeliveries/batchretry?eventType=x', undefined, 200)).uid },
    }),
  },
  cancelJob: { audit: [created('job.cancelled', { type: 'batch_cancel', done: 0 })] },
  resendMetaEvent: { audit: [created('meta_event.resent', { event_type: /^endpoint/ })] },
  search: { prepare: () => ({ query: { q: 'nothing at all' } }) },
};

export const trafficCases: Record<string, OperationCase> = { ...events, ...deliveries, ...watching };
