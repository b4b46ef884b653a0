import { isDeepStrictEqual } from 'node:util';
import { visibleHeaders } from '../domain/config/credential-headers.ts';
import type { IdFactory } from '../domain/ids.ts';
import type { JsonBounds } from '../platform/json/json-shape.ts';
import type { Sealer } from '../platform/sealer.ts';
import type { ConfigCache } from '../routing/config-cache.ts';
import type { ProjectRouting } from '../routing/project-routing.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { storedHops, withoutHops } from '../signing/hops.ts';
import { openHeaders, storedHeaders } from '../store/database/stored-headers.ts';
import type { StoredEvent } from '../store/history/events.ts';
import type { EventContent } from '../store/queue/replay-events.ts';
import { storedTrace, withoutTrace } from '../tracing/trace-context.ts';
import { readAgain, UNREADABLE } from './broker-message.ts';
import type { NewEvent } from './new-event.ts';
import { carriedHeaders, readTarget, storedTarget } from './prepare-event.ts';
import { applySourceFunctions } from './source-functions.ts';

export interface DecodeDeps {
  cache: ConfigCache;
  ids: IdFactory;
  now(): number;
  /** That of the instance. */
  retentionMs: number;
  jsonBounds: JsonBounds;
  sandbox: Sandbox;
  sealer: Sealer;
}

/** A stored event, as it is matched again. */
export interface DecodedEvent {
  stored: StoredEvent;
  event: NewEvent;
  /** The content that its source makes of it now. Null: its stored content stays. */
  content: EventContent | null;
}

/**
 * Reads a stored event. One that failed in a function of its source passes through it again. That runs code of users
 * and may read config, so it happens outside of any transaction.
 */
export async function decodeStoredEvent(
  deps: DecodeDeps,
  stored: StoredEvent,
  routing: ProjectRouting,
): Promise<DecodedEvent> {
  const event = asNewEvent(deps.sealer, stored);
  if (!stored.source_function_failed) return { stored, event, content: null };
  const failed = { stored, event: { ...event, functionFailure: stored.failure_reason }, content: null };
  const source = routing.sources.get(stored.source_id ?? '');
  if (source === undefined) return failed;
  const { sandbox, sealer, ids, now, cache, retentionMs, jsonBounds } = deps;
  const context = { seed: ids.next(), nowMs: now() };
  const refresh = () => cache.refresh(stored.project_id);
  const made =
    stored.event_type === UNREADABLE
      ? await readAgain(
          { sandbox, sealer, source, routing, refresh, retentionMs, jsonBounds, ...context },
          event,
        )
      : await applySourceFunctions(sandbox, source, { event, ...context });
  if (made === null) return failed;
  const content = made.functionFailure === null ? contentOf(deps.sealer, { stored, made, routing }) : null;
  return { stored, event: made, content };
}

function contentOf(
  sealer: Sealer,
  { stored, made, routing }: { stored: StoredEvent; made: NewEvent; routing: ProjectRouting },
): EventContent {
  const { credentials } = made;
  const visible = visibleHeaders(routing.project.config);
  const asStored = (headers: NewEvent['headers']) =>
    storedHeaders(sealer, headers, { id: stored.id, credentials, visible }) ?? '{}';
  const carried = carriedHeaders(sealer, made);
  return {
    eventType: made.eventType,
    target: storedTarget(made.target),
    payload: made.payload,
    contentType: made.contentType,
    headers: asStored(made.headers),
    forwardedHeaders: carried === null ? null : asStored(carried),
  };
}

function asNewEvent(sealer: Sealer, stored: StoredEvent): NewEvent {
  const own = openHeaders(sealer, stored.headers, stored.id);
  const forwarded =
    stored.forwarded_headers === null ? null : openHeaders(sealer, stored.forwarded_headers, stored.id);
  return {
    projectId: stored.project_id,
    target: readTarget(stored.target),
    eventType: stored.event_type,
    payload: stored.payload,
    contentType: stored.content_type,
    headers: own.headers,
    forwardedHeaders: ownForwardedHeaders(own.headers, forwarded?.headers ?? null),
    credentials: [...own.credentials, ...(forwarded?.credentials ?? [])],
    trace: storedTrace(stored.forwarded_headers),
    hops: storedHops(sealer, forwarded?.headers ?? {}),
    functionFailure: null,
    idempotencyKey: stored.idempotency_key,
    sourceId: stored.source_id,
    appId: stored.app_id,
    acknowledgedAtMs: stored.acknowledged_at,
    urlQueryParams: stored.url_query_params,
    urlPath: stored.url_path,
    metadata: stored.metadata,
    orderingKey: stored.ordering_key,
  };
}

/** An event that carries all its headers has a list of its own only if a trace or a count of hops was added to them. */
function ownForwardedHeaders(
  headers: Record<string, string[]>,
  stored: Record<string, string[]> | null,
): NewEvent['forwardedHeaders'] {
  if (stored === null) return null;
  const own = withoutHops(withoutTrace(stored));
  return isDeepStrictEqual(own, withoutHops(withoutTrace(headers))) ? null : own;
}
