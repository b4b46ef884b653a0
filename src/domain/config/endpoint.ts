import { Type } from '../../platform/type.ts';
import type { Destination } from './destination.ts';
import type { EndpointAuthentication } from './endpoint-authentication.ts';

/** The secrets of an endpoint, sealed together in one column, never logged. */
export interface EndpointSecret {
  uid: string;
  value: string;
  expires_at: string | null;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
}

/** Headers of every delivery to an endpoint, by name. A value may be a credential, so all of them count as one. */
export type EndpointHeaders = Readonly<Record<string, string>>;

export interface EndpointSecrets {
  secrets: EndpointSecret[];
  authentication: EndpointAuthentication | null;
  mtls_client_cert: { client_cert: string; client_key: string } | null;
  /** PEM of an ed25519 private key. It adds v1a signatures. */
  signing_key: { private_key: string; public_key: string } | null;
  /** Anyone with the address of a chat channel can post there. Empty: none. */
  slack_webhook_url: string;
  teams_webhook_url: string;
  /** Absent in rows that were saved before endpoints had them. */
  headers?: EndpointHeaders;
  /** The broker that deliveries go to. Absent in older rows. */
  broker?: Destination | null;
}

/** How an endpoint gets its deliveries: its URL is called, a consumer fetches them, or a broker takes them. */
export const deliveryKinds = ['push', 'pull', 'broker'] as const;
/** `device`: the endpoint of a listening program, which the API shows as a device. */
export type DeliveryKind = (typeof deliveryKinds)[number] | 'device';

/** The kinds whose deliveries nodes do not send: they wait for a consumer. */
export const fetchedKinds: readonly DeliveryKind[] = ['pull', 'device'];

export const isFetched = ({ delivery }: { delivery: DeliveryKind }): boolean =>
  fetchedKinds.includes(delivery);

export const endpointStatuses = ['active', 'inactive', 'paused'] as const;
export type EndpointStatus = (typeof endpointStatuses)[number];

/** `pending`: it has not answered the challenge that its settings ask for. No row stores this. */
export const shownStatuses = [...endpointStatuses, 'pending'] as const;
export type ShownStatus = (typeof shownStatuses)[number];

/** `challenge`: the URL has to echo a signed challenge before its first delivery. */
export const verifications = ['none', 'challenge'] as const;
export type Verification = (typeof verifications)[number];

interface Standing {
  status: EndpointStatus;
  expires_at: number | null;
  delivery: DeliveryKind;
  url: string;
  verification: Verification;
  verified_url: string;
}

/** The status at a time. It follows from the row, so expiry and another URL need no write. */
export function statusAt(row: Standing, nowMs: number): ShownStatus {
  if (row.status === 'inactive' || isExpired(row, nowMs)) return 'inactive';
  return isPending(row) ? 'pending' : row.status;
}

/** Whether the URL of an endpoint still has to answer the challenge. */
export const isPending = ({ verification, delivery, url, verified_url }: Standing): boolean =>
  verification === 'challenge' && delivery === 'push' && url !== verified_url;

/** In the database's time. */
export const isExpired = ({ expires_at }: { expires_at: number | null }, nowMs: number): boolean =>
  expires_at !== null && expires_at <= nowMs;

/** The form of a JSON body: the payload, or an object with its type and time around it. */
export const envelopes = ['none', 'standard'] as const;
export const endpointEnvelopes = ['project', ...envelopes] as const;
export type EndpointEnvelope = (typeof endpointEnvelopes)[number];

/** Members of an envelope of the endpoint's own, and what each of them holds. */
export const envelopeParts = ['id', 'type', 'time', 'data', 'null'] as const;
export type EnvelopeFields = Readonly<Record<string, (typeof envelopeParts)[number]>>;

/** The id that receivers drop repeats by. */
export const webhookIds = ['delivery', 'event'] as const;
export type WebhookId = (typeof webhookIds)[number];

/** The URL of an endpoint with the query of an event behind its own. */
export function withQuery(url: string, query: string | null): string {
  if (query === null || query === '' || url === '') return url;
  const parsed = new URL(url);
  parsed.search = parsed.search === '' ? query : `${parsed.search.slice(1)}&${query}`;
  return parsed.href;
}

/** Statuses of failed requests. */
export const StatusCodes = Type.Array(Type.Integer({ minimum: 300, maximum: 599 }), { maxItems: 50 });

interface FinalCodes {
  final_status_codes: readonly number[];
}

/** The statuses after which a delivery is not retried. */
export const finalCodesOf = (endpoint: FinalCodes | undefined, project: FinalCodes): readonly number[] =>
  endpoint === undefined || endpoint.final_status_codes.length === 0
    ? project.final_status_codes
    : endpoint.final_status_codes;

const MAX_TIMEOUT_SECONDS = 120;

interface Timeout {
  http_timeout: number;
}

/** How long a request to an endpoint may take. */
export function timeoutSeconds(endpoint: Timeout | undefined, project: Timeout): number {
  return Math.min(endpoint?.http_timeout || project.http_timeout, MAX_TIMEOUT_SECONDS);
}
