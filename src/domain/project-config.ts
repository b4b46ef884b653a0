import { type Static, Type } from 'typebox';
import { signatureHashes } from './signature-hash.ts';

/** A project's settings: the one definition that validation, storage, the wire and the docs share. */
const seconds = (description: string, minimum = 0) =>
  Type.Integer({ minimum, maximum: 31_536_000, description });

const oneOf = <T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], description });

export const Strategy = Type.Object({
  type: oneOf(['linear', 'exponential'], 'How the wait between tries grows.'),
  duration: seconds('Seconds between tries (the first wait, if exponential).', 1),
  retry_count: Type.Integer({
    minimum: 1,
    maximum: 1000,
    description: 'Total number of tries, the first included.',
  }),
});

const SignatureVersion = Type.Object({
  uid: Type.String(),
  hash: oneOf(signatureHashes, 'Hash of the HMAC.'),
  encoding: oneOf(['hex', 'base64'], 'How the digest is written.'),
  created_at: Type.String(),
});

export const CircuitBreaker = Type.Object({
  sample_rate: seconds('Seconds between two looks at the failure rate.', 1),
  error_timeout: seconds('Seconds the breaker stays open before a probe.', 1),
  failure_threshold: Type.Integer({
    minimum: 1,
    maximum: 100,
    description: 'Percent of failures that opens it.',
  }),
  success_threshold: Type.Integer({
    minimum: 1,
    maximum: 100,
    description: 'Percent of successes while half open that closes it.',
  }),
  minimum_request_count: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    description: 'Attempts needed before the rate counts.',
  }),
  observability_window: Type.Integer({ minimum: 1, maximum: 1440, description: 'Minutes looked back.' }),
  consecutive_failure_threshold: Type.Integer({
    minimum: 1,
    maximum: 1000,
    description: 'Times it opens in a row before disable_endpoint acts.',
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
    description: 'Whether the policy holds. True by default where a policy is given.',
  }),
});

export const ProjectConfig = Type.Object({
  max_payload_read_size: Type.Integer({
    minimum: 1,
    maximum: 104_857_600,
    description: 'Largest accepted payload in bytes.',
  }),
  replay_attacks_prevention_enabled: Type.Boolean({
    description: 'Every endpoint of the project signs with timestamps.',
  }),
  add_event_id_trace_headers: Type.Boolean({
    description: 'Deliveries carry X-Convoy-Event-ID and X-Convoy-EventDelivery-ID.',
  }),
  disable_endpoint: Type.Boolean({ description: 'An endpoint that keeps failing becomes inactive.' }),
  multiple_endpoint_subscriptions: Type.Boolean({
    description: 'Whether an endpoint may have several subscriptions.',
  }),
  verify_dynamic_events: Type.Boolean({
    description:
      'A dynamic event whose URL the settings of the project do not allow is refused, not stored as failed.',
  }),
  allow_unmatched_dynamic_urls: Type.Boolean({
    description: 'A dynamic event with a new URL makes an endpoint.',
  }),
  search_policy: Type.String({
    maxLength: 32,
    description:
      'How far back a search without dates reaches, as a duration such as 720h; empty = everything kept.',
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
      description: 'Schemes that deliveries are signed with.',
    }),
  }),
  request_id_header: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Header that carries the idempotency key of an event.',
  }),
  visible_headers: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    maxItems: 100,
    description:
      'Headers that are no credentials though their names look like it: their values are stored and shown in clear.',
  }),
  meta_event: MetaEventConfig,
  circuit_breaker: CircuitBreaker,
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
  };
}
