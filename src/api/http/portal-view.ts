import type { EndpointScope } from '../../domain/endpoint-scope.ts';

/**
 * What portal callers see of a response, for every operation in one place. It is compiled from the response's
 * schema. Payloads have no schema and stay unchanged.
 * - Header values are masked, except the signatures a receiver needs to verify.
 * - Secrets of endpoints show only if the link may manage endpoints, the key of a client certificate never.
 * - Ids and summaries of other owners' endpoints are removed.
 * - Sources are removed.
 */
export interface PortalViewer {
  scope: EndpointScope;
  /** The project's header. Only its value and those of Standard Webhooks are shown. */
  signatureHeader: string;
}

interface Schema {
  type?: unknown;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}

type View = (value: unknown, viewer: PortalViewer) => unknown;

export const MASK = '***';
const STANDARD_HEADERS = new Set(['webhook-id', 'webhook-timestamp', 'webhook-signature']);

const views: Record<string, (schema: Schema) => View | undefined> = {
  headers: maskedHeaders,
  request_http_header: maskedHeaders,
  response_http_header: maskedHeaders,
  secrets: () => (value, viewer) => (viewer.scope.canManage ? value : []),
  standard_webhooks_secret: () => (value, viewer) => (viewer.scope.canManage ? value : ''),
  authentication: () => (value, viewer) => (viewer.scope.canManage ? value : null),
  slack_webhook_url: () => (value, viewer) => (viewer.scope.canManage ? value : ''),
  teams_webhook_url: () => (value, viewer) => (viewer.scope.canManage ? value : ''),
  client_key: () => () => MASK,
  endpoints: (schema) => (isListOf(schema, 'string') ? ownIds : undefined),
  endpoint_metadata: (schema) => (isListOf(schema, 'object') ? ownEndpoints(schema) : undefined),
  source_metadata: () => () => null,
};

export function compilePortalView(schema: object): View {
  return compile(schema as Schema) ?? ((value) => value);
}

/** Undefined if nothing below needs a change. */
function compile(schema: Schema): View | undefined {
  if (schema.properties !== undefined) return objectView(schema.properties);
  if (schema.items !== undefined) {
    const item = compile(schema.items);
    return item && ((value, viewer) => (value as unknown[]).map((each) => item(each, viewer)));
  }
  const branches = (schema.anyOf ?? []).map(compile).filter((view) => view !== undefined);
  const [branch] = branches;
  if (branches.length > 1) throw new Error('a portal view cannot tell which branch of a union it has');
  return branch && ((value, viewer) => (value === null ? null : branch(value, viewer)));
}

function objectView(properties: Record<string, Schema>): View | undefined {
  const fields = Object.entries(properties).flatMap(([name, schema]) => {
    const view = views[name]?.(schema) ?? compile(schema);
    return view === undefined ? [] : [[name, view] as const];
  });
  if (fields.length === 0) return undefined;
  return (value, viewer) => {
    const shown = { ...(value as Record<string, unknown>) };
    for (const [name, view] of fields) {
      if (shown[name] !== undefined && shown[name] !== null) shown[name] = view(shown[name], viewer);
    }
    return shown;
  };
}

/** Only records of texts are headers. Conditions of a filter on headers are not. */
function maskedHeaders(schema: Schema): View | undefined {
  const [values] = Object.values(schema.patternProperties ?? {});
  if (values?.type !== 'string' && values?.type !== 'array') return undefined;
  return (value, viewer) => {
    const isShown = (name: string) => {
      const key = name.toLowerCase();
      return STANDARD_HEADERS.has(key) || key === viewer.signatureHeader.toLowerCase();
    };
    return Object.fromEntries(
      Object.entries(value as Record<string, unknown>).map(([name, text]) => [
        name,
        isShown(name) ? text : Array.isArray(text) ? [MASK] : MASK,
      ]),
    );
  };
}

function isListOf(schema: Schema, type: string): boolean {
  return schema.items?.type === type;
}

const ownIds: View = (value, { scope }) => (value as string[]).filter((id) => scope.endpointIds.has(id));

function ownEndpoints(schema: Schema): View {
  const each = compile(schema.items ?? {}) ?? ((value) => value);
  return (value, viewer) =>
    (value as { uid: string }[])
      .filter(({ uid }) => viewer.scope.endpointIds.has(uid))
      .map((endpoint) => each(endpoint, viewer));
}
