import { ApiClient } from '../client.ts';
import { configCases } from './config-cases.ts';
import { type Operation, pathWith } from './documented.ts';
import { asMember, peopleCases } from './people-cases.ts';
import type { Identity, OperationCase, Scene } from './scene.ts';
import { idsFor } from './things.ts';
import { trafficCases } from './traffic-cases.ts';

/**
 * One call of every operation that succeeds, by the id of the operation. A second verb and the portal share it. A read
 * that needs nothing but the ids of its path has no entry.
 */
export const cases: Record<string, OperationCase> = { ...configCases, ...trafficCases, ...peopleCases };

export interface Call extends Identity {
  ids: Record<string, string>;
  query: Record<string, string>;
  body: unknown;
  /** The path with ids and query. */
  path: string;
}

async function usualIdentity(scene: Scene, { isPortal, access }: Operation): Promise<Identity> {
  const { app, project, holder, linkId, keyId } = scene;
  const at = (key: string) => new ApiClient(app.url, key);
  if (isPortal) return { caller: at(holder.key), actor: { type: 'portal_link', uid: linkId } };
  if (access === 'session') return (await asMember(scene)).by;
  if (access === 'instance') return { caller: at(app.instance.key), actor: { type: 'instance_key' } };
  return { caller: at(project.key), actor: { type: 'api_key', uid: keyId } };
}

/** Makes what a call needs. `known` has ids that it may use instead of new ones. */
export async function prepareCall(
  scene: Scene,
  operation: Operation,
  known: Record<string, string> = {},
): Promise<Call> {
  const { params, query = {}, body, by } = (await cases[operation.caseId]?.prepare?.(scene)) ?? {};
  const ids = await idsFor(scene, operation, { ...known, ...params });
  const search = new URLSearchParams(query).toString();
  return {
    ...(by === undefined || operation.isPortal ? await usualIdentity(scene, operation) : by),
    ids,
    query,
    body,
    path: `${pathWith(operation, ids)}${search === '' ? '' : `?${search}`}`,
  };
}
