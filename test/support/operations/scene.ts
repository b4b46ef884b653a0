import type { TestApp } from '../app.ts';
import { ApiClient } from '../client.ts';
import type { Receiver } from '../servers/receiver.ts';
import { PORTAL } from './documented.ts';

/** A project in which every operation can be called. */
export interface Scene {
  app: TestApp;
  /** Calls in the project, with its key. */
  project: ApiClient;
  receiver: Receiver;
  /** Calls with a portal link of `OWNER` that has every right. */
  holder: ApiClient;
  linkId: string;
  keyId: string;
}

export const OWNER = 'owner';

/** The receiver answers 500 at `/fail`, a token at `/token`, a challenge at `/challenge`, and 200 anywhere else. */
export async function newScene(app: TestApp, receiver: Receiver, project = app.project): Promise<Scene> {
  receiver.answerAlways(({ path, json }, response) => {
    response.writeHead(path === '/fail' ? 500 : 200, { 'content-type': 'application/json' });
    const token = { access_token: 't', token_type: 'Bearer', expires_in: 60 };
    response.end(JSON.stringify(path === '/challenge' ? { challenge: json.challenge } : token));
  });
  const { name } = await project.get('');
  await project.put('', {
    name,
    config: {
      strategy: { type: 'linear', duration: 1, retry_count: 1 },
      meta_event: { is_enabled: true, event_type: ['endpoint.*'], url: `${receiver.url}/meta` },
    },
  });
  const [{ uid: keyId }] = await project.get('/keys');
  const rights = { can_manage_endpoint: true, can_create_events: true };
  const link = await project.post('/portal-links', { name: 'holder', owner_id: OWNER, ...rights });
  const holder = new ApiClient(`${app.url}${PORTAL}`, link.token);
  return { app, project, receiver, holder, linkId: link.uid, keyId };
}

/** The parts of a call. Its path gets the ids that `params` does not name from `things.ts`. */
export interface Prepared {
  params?: Record<string, string>;
  body?: unknown;
  query?: Record<string, string>;
  /** If not the usual one for the operation. */
  by?: Identity;
}

export interface Identity {
  /** Calls at the root of the service. */
  caller: ApiClient;
  actor: { type: string; uid?: string };
}

/** An audit entry: null stands for no resource, an object for part of it, `Number` for any number. */
export interface Entry {
  action: string;
  before: object | null;
  after: object | null;
}

/** One call of an operation that succeeds. */
export interface OperationCase {
  /** Makes what the call needs. */
  prepare?(scene: Scene): Prepared | Promise<Prepared>;
  /** Its audit entries, oldest first, or the reason why a change leaves none. */
  audit?: Entry[] | string;
}

export const created = (action: string, after: object): Entry => ({ action, before: null, after });
export const updated = (action: string, before: object, after: object): Entry => ({ action, before, after });
export const deleted = (action: string, before: object): Entry => ({ action, before, after: null });
export const noted = (action: string): Entry => ({ action, before: null, after: null });
