import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { marksOf } from '../../platform/json/schema-marks.ts';
import { SHOWN } from './portal-fields.ts';
import { isHarmless } from './portal-headers.ts';
import { compileView, type FieldViews, type Schema, type View } from './schema-view.ts';

/**
 * The view that portal callers have of a response, for every operation in one place. It is compiled from the response's
 * schema.
 * - A field that can hold a secret is masked, unless portal-fields.ts lists it. So a new one is hidden by default.
 * - Header values are masked, except signatures and those that are known to be harmless (portal-headers.ts).
 * - Secrets of endpoints and the code of functions show only if the link may see secrets, the key of a client
 *   certificate never.
 * - Ids and summaries of other owners' endpoints are removed.
 * - Sources are removed.
 */
export interface PortalViewer {
  scope: EndpointScope;
  /** Headers of our own requests whose names the project has chosen: the signature, the idempotency key. */
  ownHeaders: readonly string[];
}

type PortalView = View<PortalViewer>;

export const MASK = '***';

const views: FieldViews<PortalViewer> = {
  headers: maskedHeaders,
  request_http_header: maskedHeaders,
  response_http_header: maskedHeaders,
  // A link that sees no secrets learns the kind of the broker alone.
  broker: (schema) => (value, viewer) => (viewer.scope.canSeeSecrets ? value : onlyKind(schema, value)),
  function: () => (value, viewer) => (viewer.scope.canSeeSecrets ? value : masked(value)),
  // Set by the code of a function.
  set_headers: () => (value, viewer) => (viewer.scope.canSeeSecrets ? value : {}),
  set_path: () => (value, viewer) => (viewer.scope.canSeeSecrets ? value : null),
  set_query: () => (value, viewer) => (viewer.scope.canSeeSecrets ? value : {}),
  client_key: () => () => MASK,
  endpoints: (schema) => (isListOf(schema, 'string') ? ownIds : undefined),
  endpoint_metadata: (schema) => (isListOf(schema, 'object') ? ownEndpoints(schema) : undefined),
  source_metadata: () => () => null,
  // Texts of an endpoint for the owner of the project. That of events and deliveries has another form.
  metadata: (schema) => (schema.patternProperties === undefined ? undefined : () => ({})),
};

function fallback(name: string, schema: Schema): PortalView | undefined {
  const { hiddenAs } = marksOf(schema);
  if (hiddenAs !== undefined) return (value, { scope }) => (scope.canSeeSecrets ? value : hiddenAs);
  return SHOWN.has(name) || !canHoldSecret(schema) ? undefined : masked;
}

export function compilePortalView(schema: object): PortalView {
  return compileView(schema, { views, fallback }) ?? ((value) => value);
}

/** Free text and values without a schema. Numbers, times and words of a fixed list hold no secret. */
function canHoldSecret(schema: Schema): boolean {
  if (schema.properties !== undefined) return false;
  if (schema.anyOf !== undefined) return schema.anyOf.some(canHoldSecret);
  if (schema.items !== undefined) return canHoldSecret(schema.items);
  if (schema.patternProperties !== undefined || schema.type === undefined) return true;
  return (
    schema.type === 'string' &&
    schema.enum === undefined &&
    schema.const === undefined &&
    schema.format !== 'date-time'
  );
}

function masked(value: unknown): unknown {
  if (typeof value === 'string') return value === '' ? '' : MASK;
  return Array.isArray(value) ? [] : null;
}

function onlyKind({ anyOf = [] }: Schema, value: unknown): unknown {
  if (value === null) return null;
  const { properties = {} } = anyOf.find((one) => one.properties !== undefined) ?? {};
  const none = Object.keys(properties).map((name) => [name, null]);
  return { ...Object.fromEntries(none), type: (value as { type: string }).type };
}

/** Only records of texts are headers. Conditions of a filter on headers are not. */
function maskedHeaders(schema: Schema): PortalView | undefined {
  const [values] = Object.values(schema.patternProperties ?? {});
  if (values?.type !== 'string' && values?.type !== 'array') return undefined;
  if (isSealed(schema)) return (value, { scope }) => (scope.canSeeSecrets ? value : maskedValues(value));
  return (value, viewer) => {
    const own = viewer.ownHeaders.map((name) => name.toLowerCase());
    const isShown = (name: string) => isHarmless(name) || own.includes(name.toLowerCase());
    return Object.fromEntries(
      Object.entries(value as Record<string, unknown>).map(([name, text]) => [
        name,
        isShown(name) ? text : Array.isArray(text) ? [MASK] : MASK,
      ]),
    );
  };
}

/** Headers of an endpoint, whose names say nothing about their values. */
export const isSealed = ({ patternProperties }: Schema): boolean =>
  Object.values(patternProperties ?? {})[0]?.format === 'password';

export const maskedValues = (value: unknown): unknown =>
  Object.fromEntries(Object.keys(value as object).map((name) => [name, MASK]));

function isListOf(schema: Schema, type: string): boolean {
  return schema.items?.type === type;
}

const ownIds: PortalView = (value, { scope }) =>
  (value as string[]).filter((id) => scope.endpointIds.has(id));

function ownEndpoints(schema: Schema): PortalView {
  const each = compileView(schema.items ?? {}, { views, fallback }) ?? ((value) => value);
  return (value, viewer) =>
    (value as { uid: string }[])
      .filter(({ uid }) => viewer.scope.endpointIds.has(uid))
      .map((endpoint) => each(endpoint, viewer));
}
