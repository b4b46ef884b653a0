import type { Static } from 'typebox';
import { credential } from '../../platform/json/schema-marks.ts';
import { oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import { envelopes, StatusCodes } from './endpoint.ts';
import { describeSchedule, RetrySchedule, STANDARD_SCHEDULE, stepsWithin } from './retry-schedule.ts';
import { signatureHashes } from './signature-hash.ts';

/** A project's settings: the one definition for validation, storage, the API and the docs. */
const integer = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });
const seconds = (description: string, minimum = 0) => integer(minimum, 31_536_000, description);
const flag = (description: string) => Type.Boolean({ description });

export const Strategy = Type.Object({
  type: oneOf(
    ['linear', 'exponential'],
    '`linear`: the same wait before each retry. `exponential`: the wait doubles.',
  ),
  duration: seconds('Seconds between attempts, or before the first retry.', 1),
  retry_count: integer(1, 1000, 'Number of attempts, the first included.'),
  schedule: RetrySchedule,
});

const SignatureVersion = Type.Object({
  uid: Type.String({ description: 'Id of the version.' }),
  hash: oneOf(signatureHashes, 'Hash of the HMAC. Several versions sign at the same time.'),
  encoding: oneOf(['hex', 'base64'], 'Encoding of the HMAC.'),
  created_at: Type.String({ description: 'Time of its creation.' }),
});

export const CircuitBreaker = Type.Object({
  sample_rate: seconds('Seconds between two checks of a failing endpoint.', 1),
  error_timeout: seconds('Seconds that deliveries wait before one is sent as a probe.', 1),
  failure_threshold: integer(1, 100, 'Percentage of failures that opens the breaker.'),
  success_threshold: integer(
    1,
    100,
    'Probes that must succeed to close it, as a percentage of `minimum_request_count`.',
  ),
  minimum_request_count: integer(1, 1_000_000, 'With fewer attempts the breaker does not open.'),
  observability_window: integer(1, 1440, 'Minutes of attempts that count.'),
  consecutive_failure_threshold: integer(
    1,
    1000,
    'How often in a row the breaker opens before `disable_endpoint` applies.',
  ),
});

export const MetaEventConfig = Type.Object({
  is_enabled: flag('Meta events are sent.'),
  type: oneOf(['http', ''], 'The transport. There is only `http`.'),
  event_type: Type.Array(RequiredText(256), {
    maxItems: 100,
    description: '[Meta events](meta-events.md) to send. Empty: none.',
  }),
  url: Text(2048, 'URL that meta events are sent to.'),
  secret: credential(Text(1024, 'Secret that signs meta events.')),
});

export const RetentionPolicy = Type.Object({
  policy: Text(32, '[Retention](retention.md) of the project, such as `720h`. Empty: that of the instance.'),
  retention_policy_enabled: flag('The policy is in force. Omitted with a policy: true.'),
});

/** How the portal page of a project looks, and which pages may embed it. Everybody who knows the project's id can read it. */
export const PortalTheme = Type.Object({
  title: Text(64, 'Name at the top of the [portal page](portal.md). Empty: Webhooks.'),
  logo_url: Text(2048, 'Image next to the name, an https URL.'),
  logo_url_dark: Text(2048, 'Image on a dark ground. Empty: `portal.logo_url`.'),
  font: Text(128, 'Local fonts, such as `Georgia, serif`. Empty: Inter, which the page brings.'),
  accent: Text(7, 'Colour of buttons and links, such as `#3b5bdb`.'),
  radius: integer(0, 16, 'Radius of corners in pixels.'),
  color_scheme: oneOf(['auto', 'light', 'dark'], '`auto` follows the system of the reader.'),
  language: Text(2, '`en`, `de`, `fr` or `es`. Empty: as the browser asks.'),
  frame_origins: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
    maxItems: 20,
    description: 'Origins whose pages may embed the portal. Empty: none.',
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

/** Text that a header can have. */
export const UserAgent = Type.String({ maxLength: 256, pattern: '^[ -~]*$' });

export const ProjectConfig = Type.Object({
  max_payload_read_size: integer(1, 104_857_600, 'Largest payload in bytes; a larger one is 413.'),
  replay_attacks_prevention_enabled: flag('The Convoy signature of every endpoint includes a timestamp.'),
  add_event_id_trace_headers: flag('Deliveries carry `X-Convoy-Event-ID` and `X-Convoy-EventDelivery-ID`.'),
  disable_endpoint: flag('An endpoint that keeps failing becomes inactive.'),
  disable_after: Text(
    32,
    'An endpoint at which no attempt succeeded for this time, such as `120h`, becomes inactive, after an [alert](alerts.md). Empty: never.',
  ),
  hide_payload_from_viewers: flag(
    'Viewers see no payloads, responses and query strings, and cannot search payloads.',
  ),
  require_second_factor: flag('People need a session with a second factor. Keys do not.'),
  multiple_endpoint_subscriptions: flag('False: one subscription per endpoint.'),
  verify_dynamic_events: flag(
    'A dynamic event to a forbidden URL is refused. False: it is stored as failed.',
  ),
  allow_unmatched_dynamic_urls: flag(
    'A dynamic event to a new URL creates an endpoint. False: it is stored as failed.',
  ),
  schema_check: oneOf(
    ['off', 'warn', 'refuse'],
    'Answer to an event that does not fit the [schema](how-to/event-types.md#checks) of its type.',
  ),
  search_policy: Text(32, 'How far back a search without dates reaches, such as `720h`. Empty: everything.'),
  retention_policy: RetentionPolicy,
  ratelimit: Type.Object({
    count: Type.Integer({
      minimum: 0,
      description: 'Events accepted in any interval of `ratelimit.duration`. 0: no limit.',
    }),
    duration: seconds('Length of that interval in seconds.'),
  }),
  strategy: Strategy,
  http_timeout: integer(1, 120, 'Timeout in seconds of endpoints that set none.'),
  final_status_codes: {
    ...StatusCodes,
    description:
      'Answers after which a delivery is not retried, such as `413`. After `410` the endpoint becomes inactive too.',
  },
  ssl: Type.Object({ enforce_secure_endpoints: flag('Endpoints must use https.') }),
  signature: Type.Object({
    header: Type.String({ minLength: 1, maxLength: 128, description: 'Header of the Convoy signature.' }),
    versions: Type.Array(SignatureVersion, { minItems: 1, maxItems: 10 }),
    schemes: Type.Array(oneOf(['convoy', 'standard'], 'Signature scheme.'), {
      description: 'Signature headers of deliveries.',
    }),
  }),
  webhook_origin: Type.String({
    maxLength: 253,
    pattern: '^[A-Za-z0-9.-]*$',
    description:
      'Host name under which new endpoints are asked for their consent with [OPTIONS](cloudevents.md#out). Empty: none is asked.',
  }),
  request_id_header: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Header of a delivery with the idempotency key of its event.',
  }),
  envelope: oneOf(envelopes, 'Form of the JSON bodies of endpoints with `envelope` `project`.'),
  user_agent: {
    ...UserAgent,
    description: '`User-Agent` of the deliveries. Empty: `Posthorn/` and the version, or that of the event.',
  },
  visible_headers: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
    maxItems: 100,
    description: 'Headers whose names look like [credentials](secrets.md#credential-headers) but are not.',
  }),
  meta_event: MetaEventConfig,
  circuit_breaker: CircuitBreaker,
  portal_brokers: flag(
    'Portal links with `can_use_brokers` may create endpoints that send to [brokers](brokers.md#destinations).',
  ),
  portal: PortalTheme,
});

export type ProjectConfig = Static<typeof ProjectConfig>;
export type Strategy = Static<typeof Strategy>;

/** Settings that were added later, with the values that projects made before have. */
const LATER_SETTINGS = {
  webhook_origin: '',
  schema_check: 'off',
  user_agent: '',
  envelope: 'none',
  final_status_codes: [410],
  http_timeout: 10,
  disable_after: '',
  portal_brokers: false,
} satisfies Partial<ProjectConfig>;

/** A config as it is stored, with the settings that it does not have yet. */
export function withLaterSettings(stored: ProjectConfig): ProjectConfig {
  return {
    ...LATER_SETTINGS,
    ...stored,
    strategy: { ...stored.strategy, schedule: stored.strategy.schedule ?? [] },
  };
}

export const DEFAULT_SIGNATURE_HEADER = 'X-Convoy-Signature';
export const DEFAULT_REQUEST_ID_HEADER = 'X-Convoy-Idempotency-Key';

/** Convoy's retries: for calls and projects that name a part of a strategy, and not a list. */
export const CONVOY_STRATEGY: Strategy = { type: 'linear', duration: 100, retry_count: 10, schedule: [] };

/** Whose defaults new projects have. */
export const defaultsKinds = ['standard', 'convoy'] as const;
export type DefaultsKind = (typeof defaultsKinds)[number];

/** The config of a new project: as Standard Webhooks recommends it, or as Convoy has it. */
export function newProjectConfig(
  made: { versionId: string; createdAt: string },
  wanted: { defaults: DefaultsKind; retentionMs: number },
): ProjectConfig {
  const config = defaultProjectConfig(made.versionId, made.createdAt);
  if (wanted.defaults === 'convoy') return config;
  const schedule = stepsWithin(STANDARD_SCHEDULE, wanted.retentionMs);
  const { retries, ...described } = describeSchedule(schedule);
  return {
    ...config,
    strategy: { ...described, retry_count: retries + 1, schedule },
    http_timeout: 20,
    disable_after: '120h',
  };
}

/** Convoy's defaults. */
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
    strategy: CONVOY_STRATEGY,
    ...LATER_SETTINGS,
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
