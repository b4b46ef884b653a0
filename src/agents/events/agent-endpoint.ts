import { newSubscriptionFields } from '../../api/subscriptions/subscription-input.ts';
import { type NewEndpoint, newEndpoint, newSecret } from '../../control/new-endpoint.ts';
import type { NewSubscription } from '../../control/subscription-changes.ts';
import type { EndpointSecret } from '../../domain/config/endpoint.ts';
import type { IdFactory } from '../../domain/ids.ts';
import { formatTime } from '../../domain/time.ts';
import { Secret } from '../../platform/secret.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { SubscriptionRequest } from './subscription-request.ts';

/** A subscription of an agent, as an endpoint with one subscription: the forms of the draft as settings of ours. */
export const AGENT = { agent: 'mcp' } as const;
/** The text of an endpoint's metadata that has the id of the subscription. */
export const ID_FIELD = 'agent_subscription';
const ID_HEADER = 'X-MCP-Subscription-Id';
const MAX_BODY_BYTES = 256 * 1024;
/** Five attempts within a quarter of an hour: an agent has little use for older news. */
const RETRIES = ['10s', '1m', '3m', '10m'];
const TIMEOUT_SECONDS = 10;
/** How long a secret that was replaced signs along. */
const OVERLAP_MS = 300_000;
const ENVELOPE = { eventId: 'id', name: 'type', timestamp: 'time', data: 'data', cursor: 'null' } as const;

interface Deps {
  ids: IdFactory;
  now(): number;
}

export interface Wanted {
  id: string;
  /** The key or link that asked. */
  principal: string;
  ownerId: string;
  request: SubscriptionRequest;
}

export function agentEndpoint(deps: Deps, { id, principal, ownerId, request }: Wanted): NewEndpoint {
  const name = `Agent: ${request.name}`.slice(0, 256);
  const made = newEndpoint(deps, { id: deps.ids.next(), name, url: request.url, secret: request.secret });
  return {
    ...made,
    owner_id: ownerId,
    description: `Subscription ${id} of an agent, by MCP Events.`,
    metadata: { ...AGENT, [ID_FIELD]: id, agent_principal: principal },
    verification: 'challenge',
    verified_url: request.url,
    webhook_id: 'event',
    envelope: 'none',
    envelope_fields: ENVELOPE,
    max_body_bytes: MAX_BODY_BYTES,
    final_status_codes: [410, 413],
    http_timeout: TIMEOUT_SECONDS,
    expires_at: deps.now() + request.ttlMs,
    secret: new Secret({ ...made.secret.reveal(), headers: { [ID_HEADER]: id } }),
  };
}

/** Arguments are conditions on the payload. */
export function agentSubscription(
  deps: Deps,
  { request: { name, args } }: Wanted,
  endpoint: NewEndpoint,
  limits: Parameters<typeof newSubscriptionFields>[1],
): NewSubscription {
  const input = {
    name: endpoint.name,
    endpoint_id: endpoint.id,
    filter_config: { event_types: [name], filter: { body: args } },
    retry_config: { schedule: RETRIES },
  };
  return { id: deps.ids.next(), fields: newSubscriptionFields(input, limits) };
}

/** A refreshed subscription: it lasts longer, is active again, and signs with the secret that was given now. */
export function refreshed(deps: Deps, row: EndpointRow, { secret, ttlMs }: SubscriptionRequest): EndpointRow {
  const known = row.secret.reveal();
  return {
    ...row,
    expires_at: deps.now() + ttlMs,
    status: row.status === 'inactive' ? 'active' : row.status,
    secret: new Secret({ ...known, secrets: rotated(deps, known.secrets, secret) }),
  };
}

/** Only the last of the old secrets signs along, so that many refreshes add up to nothing. */
function rotated(deps: Deps, secrets: readonly EndpointSecret[], value: string): EndpointSecret[] {
  const last = secrets.at(-1);
  if (last === undefined || last.value === value) return [...secrets];
  const old = {
    ...last,
    expires_at: formatTime(deps.now() + OVERLAP_MS),
    updated_at: formatTime(deps.now()),
  };
  return [old, newSecret(deps, value)];
}
