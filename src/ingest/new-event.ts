import type { ProjectId, SourceId } from '../domain/ids.ts';
import type { EventTarget } from '../routing/project-routing.ts';
import type { TraceContext } from '../tracing/trace-context.ts';
import type { EventTimes } from './event-times.ts';

/** An incoming event: decoded and checked, not yet stored. */
export interface NewEvent {
  projectId: ProjectId;
  target: EventTarget;
  eventType: string;
  /** The bytes stored, signed and sent. */
  payload: Buffer;
  /** Null means JSON. Otherwise the payload's own content type. */
  contentType: string | null;
  headers: Readonly<Record<string, readonly string[]>>;
  /** Headers that deliveries carry; null: all of the above. */
  forwardedHeaders: Readonly<Record<string, readonly string[]>> | null;
  /** Names, in lower case, of further headers that are credentials for this event. */
  credentials: readonly string[];
  /** The trace of its acceptance and its deliveries. */
  trace: TraceContext | null;
  /** How often it came back to this instance: src/signing/hops.ts. */
  hops: number;
  /** Why a function of its source failed. The event is stored with this reason and has no deliveries. */
  functionFailure: string | null;
  idempotencyKey: string | null;
  sourceId: SourceId | null;
  appId: string | null;
  acknowledgedAtMs: number | null;
  urlQueryParams: string | null;
  urlPath: string | null;
  metadata: string | null;
  /** Overrides the key expressions of subscriptions. */
  orderingKey?: string | null;
  /** Absent: it is delivered at once, and does not expire by itself. */
  times?: EventTimes;
}
