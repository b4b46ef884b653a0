import type { ProjectConfig } from './config/project-config.ts';
import { LANE, type MetaQueueKey, type Place, type QueueKey, type RetryPolicy } from './delivery.ts';
import type { MetaEventId } from './ids.ts';

/**
 * Meta events: notifications of the service to a project. Each is stored with the change it describes, in the
 * same commit, and sent by the engine like a delivery, under a queue key of its project that no endpoint has.
 * Sending one never creates another.
 */
export const metaEventTypes = [
  'endpoint.created',
  'endpoint.updated',
  'endpoint.deleted',
  'endpoint.paused',
  'endpoint.activated',
  'endpoint.disabled',
  'endpoint.secret_rolled',
  'eventdelivery.success',
  'eventdelivery.failed',
  'eventdelivery.discarded',
  'source.created',
  'source.updated',
  'source.deleted',
  'subscription.created',
  'subscription.updated',
  'subscription.deleted',
  'alert.raised',
  'alert.cleared',
  'project.updated',
] as const;
export type MetaEventType = (typeof metaEventTypes)[number];

/** Types that are not built yet. A project that names one would wait for it in vain. */
export const unsentMetaEvents: readonly string[] = ['eventdelivery.retrying'];

export interface NewMetaEvent {
  id: MetaEventId;
  projectId: string;
  eventType: MetaEventType;
  /** JSON of `{event_type, data}`. These bytes are sent. */
  payload: Buffer;
  retry: RetryPolicy;
}

/** Whether a project subscribed to a type: by its name, `*`, or a prefix such as `endpoint.*`. */
export function wantsMetaEvent(config: ProjectConfig['meta_event'], type: MetaEventType): boolean {
  if (!config.is_enabled) return false;
  return config.event_type.some((wanted) =>
    wanted.endsWith('*') ? type.startsWith(wanted.slice(0, -1)) : wanted === type,
  );
}

const PREFIX = 'meta:';

/** The queue key of a project's meta events. */
export function metaQueueKey(projectId: string): MetaQueueKey {
  return `${PREFIX}${projectId}` as MetaQueueKey;
}

/** Where the meta events of a project wait. */
export const metaEventsOf = (projectId: string): Place => ({
  projectId,
  key: metaQueueKey(projectId),
  lane: LANE.first,
});

/** Asked only of what waits: what a node leases says itself what it is. */
export function isMetaQueueKey(key: QueueKey): key is MetaQueueKey {
  return key.startsWith(PREFIX);
}
