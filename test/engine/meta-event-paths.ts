import type { MetaEventType } from '../../src/domain/meta-event.ts';
import { subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import type { Receiver } from '../support/servers/receiver.ts';
import { completedJob, shown } from '../support/settled.ts';

/**
 * The ways to a meta event that are no single call of test/support/operations. Each makes some changes and returns the
 * ids of the changed resources.
 */
export interface Scene {
  /** Calls of a project with meta events of the tested type, and nothing else. */
  project: ApiClient;
  /** Answers by path: `/gone` 410, `/broken` 500 until `mend`, anything else 200. */
  receiver: Receiver;
  mend(): void;
  /** The alerts of the project, raised or cleared. */
  alerts(): Promise<Record<string, unknown>[]>;
}

type Path = (scene: Scene) => Promise<string[]>;

const uids = (rows: Json[]): string[] => rows.map((row) => row.uid);
const subscribed = ({ project, receiver }: Scene, path = '/ok', subscription: object = {}) =>
  subscribe(project, `${receiver.url}${path}`, { subscription });
const send = ({ project }: Scene, event_type = 'e') =>
  project.post('/events/broadcast', { event_type, data: { n: 1 } });
const deliveries = async ({ project }: Scene): Promise<Json[]> =>
  (await project.get('/eventdeliveries?perPage=100')).content;
const onboard = async (scene: Scene) => {
  const items = ['a', 'b'].map((name) => ({ name, url: `${scene.receiver.url}/${name}` }));
  await completedJob(scene.project, await scene.project.post('/onboard', { items }, 202));
};
const all = async ({ project }: Scene, list: string) => uids((await project.get(list)).content);
const dynamic = ({ project, receiver }: Scene, event_types?: string[]) =>
  project.post('/events/dynamic', { url: `${receiver.url}/new`, event_type: 'e', data: {}, event_types });
const disabled = async (scene: Scene) => {
  const { endpoint } = await subscribed(scene, '/gone');
  await send(scene);
  await shown(scene.project, `/endpoints/${endpoint.uid}`, { status: 'inactive' });
  return endpoint;
};
/** Deliveries that a paused endpoint holds. */
const held = async (scene: Scene, count: number) => {
  const { endpoint } = await subscribed(scene);
  await scene.project.put(`/endpoints/${endpoint.uid}/pause`);
  for (let n = 0; n < count; n++) await send(scene);
  return endpoint;
};
const raised = async (scene: Scene) => {
  const { endpoint } = await subscribed(scene, '/broken', { alert_config: { count: 1, threshold: '1m' } });
  await send(scene);
  return endpoint;
};
export const paths: Partial<Record<MetaEventType, Record<string, Path>>> = {
  'endpoint.created': {
    'a dynamic event': async (scene) => {
      await dynamic(scene);
      await dynamic(scene);
      return all(scene, '/endpoints');
    },
    onboarding: async (scene) => {
      await onboard(scene);
      return all(scene, '/endpoints');
    },
  },
  'endpoint.activated': {
    'a call that ends its pause': async (scene) => {
      const { endpoint } = await subscribed(scene);
      await scene.project.put(`/endpoints/${endpoint.uid}/pause`);
      await scene.project.put(`/endpoints/${endpoint.uid}/pause`);
      return [endpoint.uid];
    },
    'a call after it was disabled': async (scene) => {
      const { uid } = await disabled(scene);
      await scene.project.post(`/endpoints/${uid}/activate`, {}, 202);
      return [uid];
    },
  },
  'endpoint.disabled': {
    'its answer 410': async (scene) => [(await disabled(scene)).uid],
    'a call with is_disabled': async (scene) => {
      const { endpoint } = await subscribed(scene);
      const body = { name: 'y', url: endpoint.url, is_disabled: true };
      await scene.project.put(`/endpoints/${endpoint.uid}`, body);
      await scene.project.put(`/endpoints/${endpoint.uid}`, body);
      return [endpoint.uid];
    },
  },
  'eventdelivery.success': {
    'an answer 200': async (scene) => {
      await subscribed(scene);
      await send(scene);
      return uids(await deliveries(scene));
    },
  },
  'eventdelivery.failed': {
    'the last answer 500': async (scene) => {
      await subscribed(scene, '/broken', {
        retry_config: { type: 'linear', duration: '1s', retry_count: 1 },
      });
      await send(scene);
      return uids(await deliveries(scene));
    },
    'a function that fails': async (scene) => {
      await subscribed(scene, '/ok', { function: 'function transform() { throw new Error("no") }' });
      await send(scene);
      return uids(await deliveries(scene));
    },
    'a test of the endpoint, which is tried once': async (scene) => {
      const { endpoint } = await subscribed(scene, '/broken');
      await scene.project.post(`/endpoints/${endpoint.uid}/test`, {}, 200);
      return uids(await deliveries(scene));
    },
  },
  'eventdelivery.discarded': {
    'an inactive endpoint': async (scene) => {
      await disabled(scene);
      const known = uids(await deliveries(scene));
      await send(scene);
      return uids(await deliveries(scene)).filter((uid) => !known.includes(uid));
    },
    'a deleted endpoint': async (scene) => {
      const endpoint = await held(scene, 1);
      await scene.project.delete(`/endpoints/${endpoint.uid}`);
      return uids(await deliveries(scene));
    },
    'cancelling the one of an event': async (scene) => {
      const endpoint = await held(scene, 2);
      const [first, second] = await deliveries(scene);
      const cancel = async (eventId: string) =>
        completedJob(
          scene.project,
          await scene.project.post(`/eventdeliveries/cancel?eventId=${eventId}`, {}, 200),
        );
      await cancel(first.event_id);
      // Again, which finds nothing, and nothing of what went out.
      await cancel(first.event_id);
      await scene.project.put(`/endpoints/${endpoint.uid}/pause`);
      await shown(scene.project, `/eventdeliveries/${second.uid}`, { status: 'Success' });
      return [first.uid];
    },
    'cancelling many': async (scene) => {
      // More than are read at a time.
      await held(scene, 45);
      await completedJob(scene.project, await scene.project.post('/eventdeliveries/cancel', {}, 200));
      return uids(await deliveries(scene));
    },
  },
  'source.updated': {
    'an answered challenge': async (scene) => {
      const source = await scene.project.post('/sources', {
        name: 't',
        type: 'http',
        provider: 'twitter',
        verifier: { type: 'hmac', hmac: { secret: 's', header: 'x', hash: 'SHA256', encoding: 'base64' } },
      });
      await fetch(`${source.url}?crc_token=x`);
      // Within a minute, so not noted.
      await fetch(`${source.url}?crc_token=y`);
      return [source.uid];
    },
  },
  'subscription.created': {
    'an event to an endpoint without one': async (scene) => {
      const endpoint = await scene.project.post('/endpoints', { name: 'x', url: scene.receiver.url });
      const event = { endpoint_id: endpoint.uid, event_type: 'e', data: {} };
      await scene.project.post('/events', event);
      await scene.project.post('/events', event);
      return all(scene, '/subscriptions');
    },
    onboarding: async (scene) => {
      await onboard(scene);
      return all(scene, '/subscriptions');
    },
  },
  'subscription.updated': {
    'a dynamic event with other types': async (scene) => {
      await dynamic(scene, ['e']);
      await dynamic(scene, ['e', 'f']);
      return all(scene, '/subscriptions');
    },
  },
  'subscription.deleted': {
    'deleting its endpoint, which has two': async (scene) => {
      const { endpoint, subscription } = await subscribed(scene);
      const other = await scene.project.post('/subscriptions', { name: 'o', endpoint_id: endpoint.uid });
      await scene.project.delete(`/endpoints/${endpoint.uid}`);
      return [subscription.uid, other.uid];
    },
  },
  'alert.raised': {
    'failures of a subscription': async (scene) => [(await raised(scene)).uid],
    'disabling an endpoint': async (scene) => [(await disabled(scene)).uid],
  },
  'alert.cleared': {
    'a success of the subscription': async (scene) => {
      const { uid } = await raised(scene);
      await eventually(scene.alerts, ([alert]) => alert !== undefined);
      scene.mend();
      // A node knows of the alert a moment after it was raised, and a success before that clears nothing.
      await eventually(
        async () => {
          await send(scene);
          return scene.alerts();
        },
        ([alert]) => alert?.['cleared_at'] !== null,
      );
      return [uid];
    },
    'activating the endpoint': async (scene) => {
      const { uid } = await disabled(scene);
      await scene.project.post(`/endpoints/${uid}/activate`, {}, 202);
      return [uid];
    },
  },
};
