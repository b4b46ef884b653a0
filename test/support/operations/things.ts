import { Listener } from '../../pull/listener.ts';
import { subscribe } from '../app.ts';
import type { Json } from '../client.ts';
import { eventually } from '../eventually.ts';
import { member } from '../session-client.ts';
import type { Operation } from './documented.ts';
import { OWNER, type Scene } from './scene.ts';

/** Makes the things that calls are about. All are named `old` and belong to `OWNER`. */
let count = 0;
export const unique = (what: string): string => `${what}-${(count += 1)}`;

export const newEndpoint = ({ project, receiver }: Scene, more: object = {}): Promise<Json> =>
  project.post('/endpoints', { name: 'old', url: `${receiver.url}/e`, owner_id: OWNER, ...more });

/** An endpoint with an event that a consumer may take. */
export async function newPullEndpoint(scene: Scene): Promise<string> {
  const { uid } = await newEndpoint(scene, { delivery: 'pull', url: undefined });
  await scene.project.post('/events', { endpoint_id: uid, event_type: 'x', data: {} });
  return uid;
}

export const newLink = ({ project }: Scene, more: object = {}): Promise<Json> =>
  project.post('/portal-links', { name: 'old', owner_id: OWNER, ...more });

/** A delivery that has ended in the state that the path it went to leads to. */
export async function ended(
  { project, receiver }: Scene,
  path: '/e' | '/fail',
  subscription: object = {},
): Promise<Json> {
  const type = unique('type');
  await subscribe(project, `${receiver.url}${path}`, {
    eventTypes: [type],
    endpoint: { owner_id: OWNER },
    subscription,
  });
  const event = await project.post('/events/broadcast', { event_type: type, data: {} });
  const { content } = await eventually(
    () => project.get(`/eventdeliveries?eventId=${event.uid}`),
    (page) => ['Success', 'Failure'].includes(page.content[0]?.status),
  );
  return content[0];
}

/** The id of an ordering key that a failed delivery holds. */
export async function heldKey(scene: Scene): Promise<string> {
  const { endpoint_id, subscription_id } = await ended(scene, '/fail', { ordering: { key: 'endpoint' } });
  // Its alert is a change of the project, after the end of the delivery.
  await eventually(
    () =>
      scene.app.database.query("select from alerts where kind = 'ordering' and subject_id like $1", [
        `${subscription_id}%`,
      ]),
    { length: 1 },
  );
  return `${endpoint_id}:`;
}

async function subscriptionIds({ project, receiver }: Scene) {
  const { subscription } = await subscribe(project, `${receiver.url}/e`, {
    eventTypes: ['old.type'],
    endpoint: { owner_id: OWNER },
    subscription: { name: 'old' },
  });
  const [filter] = await project.get(`/subscriptions/${subscription.uid}/filters`);
  return { subscriptionID: subscription.uid, filterID: filter.uid, eventType: 'old.type' };
}

async function deliveryIds(scene: Scene) {
  const { uid, event_id } = await ended(scene, '/e');
  const [attempt] = await scene.project.get(`/eventdeliveries/${uid}/deliveryattempts`);
  return { eventID: event_id, eventDeliveryID: uid, deliveryAttemptID: attempt.uid };
}

async function metaEventIds(scene: Scene) {
  await newEndpoint(scene);
  const { content } = await eventually(
    () => scene.project.get('/meta-events'),
    (page) => page.content[0]?.status === 'Success',
  );
  return { metaEventID: content[0].uid };
}

async function deviceIds({ project }: Scene) {
  const listener = await Listener.start(project, { host_name: unique('laptop') });
  await listener.close();
  return { deviceID: listener.of('ready')[0].device.uid };
}

/** One thing made by a POST to a path of the project. */
const posted =
  (name: string, path: string, body: () => object) =>
  async ({ project }: Scene) => ({ [name]: (await project.post(path, body())).uid });

/** The parameters of paths, and one function for those that belong together. */
const makers: [names: string[], make: (scene: Scene) => Promise<Record<string, string>>][] = [
  [['projectID'], async ({ project }) => ({ projectID: project.projectId })],
  [['keyID'], posted('keyID', '/keys', () => ({ name: 'old' }))],
  [['endpointID'], async (scene) => ({ endpointID: (await newEndpoint(scene)).uid })],
  [['sourceID'], posted('sourceID', '/sources', () => ({ name: 'old', type: 'rest_api' }))],
  [['subscriptionID', 'filterID', 'eventType'], subscriptionIds],
  [
    ['eventTypeID'],
    posted('eventTypeID', '/event-types', () => ({ name: unique('type'), description: 'old' })),
  ],
  [['eventID', 'eventDeliveryID', 'deliveryAttemptID'], deliveryIds],
  [['metaEventID'], metaEventIds],
  [['portalLinkID'], async (scene) => ({ portalLinkID: (await newLink(scene)).uid })],
  [['deviceID'], deviceIds],
  [
    ['viewID'],
    posted('viewID', '/views', () => ({ page: 'events', name: unique('view'), query: 'status=Failure' })),
  ],
  [
    ['muteID'],
    async (scene) => {
      const group = { endpoint_id: (await newEndpoint(scene)).uid, outcome: 'http_500' };
      return { muteID: (await scene.project.post('/failures/mutes', group)).uid };
    },
  ],
  [
    ['jobID'],
    async ({ project }) => ({
      jobID: (await project.post('/eventdeliveries/cancel?endpointId=none', undefined, 200)).uid,
    }),
  ],
  [['personID'], async ({ app, project }) => ({ personID: (await member(app, 'viewer', project)).uid })],
];

/** New ids for the parameters of a path, except those that are known. */
export async function idsFor(
  scene: Scene,
  { path }: Pick<Operation, 'path'>,
  known: Record<string, string> = {},
): Promise<Record<string, string>> {
  const ids = { ...known };
  for (const [, name = ''] of path.matchAll(/\{(\w+)\}/g)) {
    if (ids[name] !== undefined) continue;
    const [, make] = makers.find(([names]) => names.includes(name)) ?? [];
    if (make === undefined) throw new Error(`things.ts makes no ${name}`);
    Object.assign(ids, await make(scene));
  }
  return ids;
}
