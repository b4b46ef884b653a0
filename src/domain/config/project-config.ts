import type { Static, TObject, TProperties } from 'typebox';
import { credential, mark, usual, usualOf } from '../../platform/json/schema-marks.ts';
import { oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import { envelopes, StatusCodes } from './endpoint.ts';
import { describeSchedule, RetrySchedule, STANDARD_SCHEDULE, stepsWithin } from './retry-schedule.ts';
import { signatureHashes } from './signature-hash.ts';

export const DEFAULT_SIGNATURE_HEADER = 'X-Convoy-Signature';
export const DEFAULT_REQUEST_ID_HEADER = 'X-Convoy-Idempotency-Key';

/** A project's settings: the one definition for validation, Convoy's defaults, storage, the API and the docs. */
const group = <T extends TProperties>(fields: T): TObject<T> =>
  mark(Type.Object(fields), { usual: usualOf(fields) });
const integer = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description });
const seconds = (description: string, minimum = 0) => integer(minimum, 31_536_000, description);
const flag = (description: string) => Type.Boolean({ description });

export const Strategy = group({
  type: usual(
    'linear',
    oneOf(
      ['linear', 'exponential'],
      '`linear`: the same wait before each retry. `exponential`: the wait doubles.',
    ),
  ),
  duration: usual(100, seconds('Seconds between attempts, or before the first retry.', 1)),
  retry_count: usual(10, integer(1, 1000, 'Number of attempts, the first included.')),
  schedule: RetrySchedule,
});

const SignatureVersion = Type.Object({
  uid: Type.String({ description: 'Id of the version.' }),
  hash: oneOf(signatureHashes, 'Hash of the HMAC. Several versions sign at the same time.'),
  encoding: oneOf(['hex', 'base64'], 'Encoding of the HMAC.'),
  created_at: Type.String({ description: 'Time of its creation.' }),
});

export const CircuitBreaker = group({
  sample_rate: usual(30, seconds('Seconds between two checks of a failing endpoint.', 1)),
  error_timeout: usual(30, seconds('Seconds that deliveries wait before one is sent as a probe.', 1)),
  failure_threshold: usual(70, integer(1, 100, 'Percentage of failures that opens the breaker.')),
  success_threshold: usual(
    5,
    integer(1, 100, 'Probes that must succeed to close it, as a percentage of `minimum_request_count`.'),
  ),
  minimum_request_count: usual(10, integer(1, 1_000_000, 'With fewer attempts the breaker does not open.')),
  observability_window: usual(5, integer(1, 1440, 'Minutes of attempts that count.')),
  consecutive_failure_threshold: usual(
    10,
    integer(1, 1000, 'How often in a row the breaker opens before `disable_endpoint` applies.'),
  ),
});

export const MetaEventConfig = group({
  is_enabled: flag('Meta events are sent.'),
  type: usual('http', oneOf(['http', ''], 'The transport. There is only `http`.')),
  event_type: Type.Array(RequiredText(256), {
    maxItems: 100,
    description: '[Meta events](meta-events.md) to send. Empty: none.',
  }),
  url: Text(2048, 'URL that meta events are sent to.'),
  secret: credential(Text(1024, 'Secret that signs meta events.')),
});

const RetentionPolicy = group({
  policy: Text(32, '[Retention](retention.md) of the project, such as `720h`. Empty: that of the instance.'),
  retention_policy_enabled: flag('The policy is in force. Omitted with a policy: true.'),
});

/** How the portal page of a project looks, and which pages may embed it. Everybody who knows the project's id can read it. */
export const PortalTheme = group({
  title: Text(64, 'Name at the top of the [portal page](portal.md). Empty: Webhooks.'),
  logo_url: Text(2048, 'Image next to the name, an https URL.'),
  logo_url_dark: Text(2048, 'Image on a dark ground. Empty: `portal.logo_url`.'),
  font: Text(128, 'Local fonts, such as `Georgia, serif`. Empty: Inter, which the page brings.'),
  accent: Text(7, 'Colour of buttons and links, such as `#3b5bdb`.'),
  radius: usual(5, integer(0, 16, 'Radius of corners in pixels.')),
  color_scheme: usual('auto', oneOf(['auto', 'light', 'dark'], '`auto` follows the system of the reader.')),
  language: Text(2, '`en`, `de`, `fr` or `es`. Empty: as the browser asks.'),
  frame_origins: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
    maxItems: 20,
    description: 'Origins whose pages may embed the portal. Empty: none.',
  }),
});
export type PortalTheme = Static<typeof PortalTheme>;

/** Text that a header can have. */
export const UserAgent = Type.String({ maxLength: 256, pattern: '^[ -~]*$' });

export const ProjectConfig = Type.Object({
  max_payload_read_size: usual(
    1_048_576,
    integer(1, 104_857_600, 'Largest payload in bytes; a larger one is 413.'),
  ),
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
  multiple_endpoint_subscriptions: usual(true, flag('False: one subscription per endpoint.')),
  verify_dynamic_events: flag(
    'A dynamic event to a forbidden URL is refused. False: it is stored as failed.',
  ),
  allow_unmatched_dynamic_urls: usual(
    true,
    flag('A dynamic event to a new URL creates an endpoint. False: it is stored as failed.'),
  ),
  schema_check: usual(
    'off',
    oneOf(
      ['off', 'warn', 'refuse'],
      'Answer to an event that does not fit the [schema](how-to/event-types.md#checks) of its type.',
    ),
  ),
  search_policy: Text(32, 'How far back a search without dates reaches, such as `720h`. Empty: everything.'),
  retention_policy: RetentionPolicy,
  ratelimit: group({
    count: Type.Integer({
      minimum: 0,
      description: 'Events accepted in any interval of `ratelimit.duration`. 0: no limit.',
    }),
    duration: usual(60, seconds('Length of that interval in seconds.')),
  }),
  strategy: Strategy,
  http_timeout: usual(10, integer(1, 120, 'Timeout in seconds of endpoints that set none.')),
  final_status_codes: usual([410], {
    ...StatusCodes,
    description:
      'Answers after which a delivery is not retried, such as `413`. After `410` the endpoint becomes inactive too.',
  }),
  ssl: group({ enforce_secure_endpoints: flag('Endpoints must use https.') }),
  signature: group({
    header: usual(DEFAULT_SIGNATURE_HEADER, RequiredText(128, 'Header of the Convoy signature.')),
    versions: Type.Array(SignatureVersion, { minItems: 1, maxItems: 10 }),
    schemes: usual(
      ['convoy', 'standard'],
      Type.Array(oneOf(['convoy', 'standard'], 'Signature scheme.'), {
        description: 'Signature headers of deliveries.',
      }),
    ),
  }),
  webhook_origin: Type.String({
    maxLength: 253,
    pattern: '^[A-Za-z0-9.-]*$',
    description:
      'Host name under which new endpoints are asked for their consent with [OPTIONS](cloudevents.md#out). Empty: none is asked.',
  }),
  request_id_header: usual(
    DEFAULT_REQUEST_ID_HEADER,
    RequiredText(128, 'Header of a delivery with the idempotency key of its event.'),
  ),
  envelope: usual(
    'none',
    oneOf(envelopes, 'Form of the JSON bodies of endpoints with `envelope` `project`.'),
  ),
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

const USUAL: ProjectConfig = usualOf(ProjectConfig.properties);

/** A config as it is stored, with the settings that it does not have yet. */
export const withLaterSettings = (stored: ProjectConfig): ProjectConfig => ({
  ...USUAL,
  ...stored,
  strategy: { ...USUAL.strategy, ...stored.strategy },
});

/** Convoy's retries: for calls and projects that name a part of a strategy, and not a list. */
export const CONVOY_STRATEGY = USUAL.strategy;

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
export const defaultProjectConfig = (versionId: string, createdAt: string): ProjectConfig => ({
  ...USUAL,
  signature: {
    ...USUAL.signature,
    versions: [{ uid: versionId, hash: 'SHA256', encoding: 'hex', created_at: createdAt }],
  },
});
