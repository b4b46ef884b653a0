import type { EventTarget } from '../routing/project-routing.ts';
import type { TraceContext } from '../tracing/trace-context.ts';

/** An event at the door: decoded and checked, not yet stored. */
export interface NewEvent {
  projectId: string;
  target: EventTarget;
  eventType: string;
  /** The bytes stored, signed and sent. */
  payload: Buffer;
  /** null: JSON; else the payload's own content type. */
  contentType: string | null;
  headers: Readonly<Record<string, readonly string[]>>;
  /** Headers that deliveries carry; null: all of the above. */
  forwardedHeaders: Readonly<Record<string, readonly string[]>> | null;
  /** Names, in lower case, of headers that are credentials here, beside those that always are. */
  credentials: readonly string[];
  /** The trace that its acceptance and its deliveries are part of. */
  trace: TraceContext | null;
  /** Why it cannot be delivered: it is stored with this and goes to nobody. */
  failure: string | null;
  idempotencyKey: string | null;
  sourceId: string | null;
  appId: string | null;
  acknowledgedAtMs: number | null;
  urlQueryParams: string | null;
  urlPath: string | null;
  metadata: string | null;
}
