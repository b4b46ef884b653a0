import type { Static } from 'typebox';
import { oneOf, Type } from '../../platform/type.ts';
import { signatureHashes } from './signature-hash.ts';

/** A project's settings: the one definition for validation, storage, the API and the docs. */
const seconds = (description: string, minimum = 0) =>
  Type.Integer({ minimum, maximum: 31_536_000, description });

export const Strategy = Type.Object({
  type: oneOf(['linear', 'exponential'], 'How the wait between attempts grows.'),
  duration: seconds('Seconds between attempts (the first wait, if exponential).', 1),
  retry_count: Type.Integer({
    minimum: 1,
    maximum: 1000,
    description: 'Total number of attempts, the first included.',
  }),
});

const SignatureVersion = Type.Object({
  uid: Type.String(),
  hash: oneOf(signatureHashes, 'Hash of the HMAC.'),
  encoding: oneOf(['hex', 'base64'], 'Encoding of the digest.'),
  created_at: Type.String(),
});

export const CircuitBreaker = Type.Object({
  sample_rate: seconds('Seconds between two checks of the failure rate.', 1),
  error_timeout: seconds('Seconds the breaker stays open before a probe.', 1),
  failure_threshold: Type.Integer({
    minimum: 1,
    maximum: 100,
    description: 'Percentage of failures that opens the breaker.',
  }),
  success_threshold: Type.Integer({
    minimum: 1,
    maximum: 100,
    description: 'Percentage of successes while half-open that closes the breaker.',
  }),
  minimum_request_count: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    description: 'Minimum number of attempts before the rate counts.',
  }),
  observability_window: Type.Integer({
    minimum: 1,
    maximum: 1440,
    description: 'Length of the observed window in minutes.',
  }),
  consecutive_failure_threshold: Type.Integer({
    minimum: 1,
    maximum: 1000,
    description: 'How often the breaker opens in a row before disable_endpoint applies.',
  }),
});

export const MetaEventConfig = Type.Object({
  is_enabled: Type.Boolean(),
  type: oneOf(['http', ''], 'Transport; http only.'),
  event_type: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 100 }),
  url: Type.String({ maxLength: 2048 }),
  secret: Type.String({ maxLength: 1024 }),
});

export const RetentionPolicy = Type.Object({
  policy: Type.String({
    maxLength: 32,
    description: 'How long events are kept, as a duration such as 720h; empty = the instance policy.',
  }),
  retention_policy_enabled: Type.Boolean({
    description: 'Whether the policy applies. True by default if a policy is set.',
  }),
});

/** How the portal page of a project looks, and which pages may embed it. Everybody who knows the project's id can read it. */
export const PortalTheme = Type.Object({
  title: Type.String({ maxLength: 64, description: 'Name at the top of the page; empty = Webhooks.' }),
  logo_url: Type.String({ maxLength: 2048, description: 'https URL of an image; empty = none.' }),
  logo_url_dark: Type.String({
    maxLength: 2048,
    description: 'https URL of the image on a dark ground; empty = logo_url.',
  }),
  font: Type.String({
    maxLength: 128,
    description: 'Fonts of the reader’s device, such as Inter, Helvetica; empty = the font of the system.',
  }),
  accent: Type.String({
    maxLength: 7,
    description: 'Colour of buttons and links, such as #3b5bdb; empty = the default.',
  }),
  radius: Type.Integer({ minimum: 0, maximum: 16, description: 'Radius of corners in pixels.' }),
  color_scheme: oneOf(['auto', 'light', 'dark'], 'auto follows the reader’s system.'),
  language: Type.String({
    maxLength: 2,
    description: 'Language of the page, such as de; empty = as the reader’s browser asks.',
  }),
  frame_origins: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
    maxItems: 20,
    description: 'Origins that may embed the page, such as https://app.example.com; empty = none.',
  }),
});
export type PortalTheme = Static<typeof PortalTheme>;

export const DEFAULT_PORTAL_THEME: PortalTheme = {
  title: '',
  logo_url: '',
  logo_url_dark: '',
  font: '',
  accent: '',
  radius: 5,
  color_scheme: 'auto',
  language: '',
  frame_origins: [],
};

export const ProjectConfig = Type.Object({
  max_payload_read_size: Type.Integer({
    minimum: 1,
    maximum: 104_857_600,
    description: 'Largest accepted payload in bytes.',
  }),
  replay_attacks_prevention_enabled: Type.Boolean({
    description: 'Deliveries to every endpoint of the project are signed with timestamps.',
  }),
  add_event_id_trace_headers: Type.Boolean({
    description: 'Deliveries carry X-Convoy-Event-ID and X-Convoy-EventDelivery-ID.',
  }),
  disable_endpoint: Type.Boolean({ description: 'Whether an endpoint that keeps failing becomes inactive.' }),
  hide_payload_from_viewers: Type.Boolean({
    description: 'Whether callers with the role viewer see no payloads and responses. False by default.',
  }),
  require_second_factor: Type.Boolean({
    description: 'Whether people need a session with a second factor to use the project. False by default.',
  }),
  multiple_endpoint_subscriptions: Type.Boolean({
    description: 'Whether an endpoint may have several subscriptions.',
  }),
  verify_dynamic_events: Type.Boolean({
    description:
      'Refuse a dynamic event to a URL that the egress rule or the project forbids, instead of storing it as failed.',
  }),
  allow_unmatched_dynamic_urls: Type.Boolean({
    description: 'Whether a dynamic event with a new URL creates an endpoint.',
  }),
  search_policy: Type.String({
    maxLength: 32,
    description:
      'How far back a search without dates reaches, as a duration such as 720h; empty = all stored events.',
  }),
  retention_policy: RetentionPolicy,
  ratelimit: Type.Object({
    count: Type.Integer({ minimum: 0, description: 'Events accepted per duration; 0 = no limit.' }),
    duration: seconds('Length of the window in seconds.'),
  }),
  strategy: Strategy,
  ssl: Type.Object({ enforce_secure_endpoints: Type.Boolean({ description: 'Endpoints must use https.' }) }),
  signature: Type.Object({
    header: Type.String({ minLength: 1, maxLength: 128, description: 'Name of the signature header.' }),
    versions: Type.Array(SignatureVersion, { minItems: 1, maxItems: 10 }),
    schemes: Type.Array(oneOf(['convoy', 'standard'], 'Signature scheme.'), {
      description: 'Signature schemes of deliveries.',
    }),
  }),
  request_id_header: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Header with the idempotency key of an event.',
  }),
  visible_headers: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    maxItems: 100,
    description:
      'Headers whose names look like credentials but are not. Their values are stored and shown in clear.',
  }),
  meta_event: MetaEventConfig,
  circuit_breaker: CircuitBreaker,
  portal: PortalTheme,
});

export type ProjectConfig = Static<typeof ProjectConfig>;
export type Strategy = Static<typeof Strategy>;

export const DEFAULT_SIGNATURE_HEADER = 'X-Convoy-Signature';
export const DEFAULT_REQUEST_ID_HEADER = 'X-Convoy-Idempotency-Key';

export function defaultProjectConfig(signatureVersionId: string, createdAt: string): ProjectConfig {
  return {
    max_payload_read_size: 1_048_576,
    replay_attacks_prevention_enabled: false,
    add_event_id_trace_headers: false,
    disable_endpoint: false,
    hide_payload_from_viewers: false,
    require_second_factor: false,
    multiple_endpoint_subscriptions: true,
    verify_dynamic_events: false,
    allow_unmatched_dynamic_urls: true,
    search_policy: '',
    retention_policy: { policy: '', retention_policy_enabled: false },
    ratelimit: { count: 0, duration: 60 },
    strategy: { type: 'linear', duration: 100, retry_count: 10 },
    ssl: { enforce_secure_endpoints: false },
    signature: {
      header: DEFAULT_SIGNATURE_HEADER,
      versions: [{ uid: signatureVersionId, hash: 'SHA256', encoding: 'hex', created_at: createdAt }],
      schemes: ['convoy', 'standard'],
    },
    request_id_header: DEFAULT_REQUEST_ID_HEADER,
    visible_headers: [],
    meta_event: { is_enabled: false, type: 'http', event_type: [], url: '', secret: '' },
    circuit_breaker: {
      sample_rate: 30,
      error_timeout: 30,
      failure_threshold: 70,
      success_threshold: 5,
      minimum_request_count: 10,
      observability_window: 5,
      consecutive_failure_threshold: 10,
    },
    portal: DEFAULT_PORTAL_THEME,
  };
}
