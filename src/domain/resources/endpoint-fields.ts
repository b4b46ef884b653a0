import { nullable, oneOf, Type } from '../../platform/type.ts';
import { type CloudEventForm, cloudForms } from '../config/cloud-event.ts';
import {
  type DeliveryKind,
  deliveryKinds,
  type EndpointEnvelope,
  type EndpointStatus,
  type EnvelopeFields,
  endpointEnvelopes,
  endpointStatuses,
  envelopeParts,
  StatusCodes,
  type Verification,
  verifications,
  type WebhookId,
  webhookIds,
} from '../config/endpoint.ts';
import { UserAgent } from '../config/project-config.ts';
import { choice, count, field, flag, key, name, text, type Values } from './fields.ts';

const seenByAll = { portal: true, meta: true } as const;
const oldCallers = { why: 'older callers use it' };

export const endpointFields = {
  name,
  url: text(2048, {
    text: 'URL that deliveries go to. Required if `delivery` is `push`.',
    label: 'URL',
    ...seenByAll,
  }),
  delivery: choice(
    { of: deliveryKinds, usual: 'push' as DeliveryKind },
    {
      text: '`push`: the `url` is called. `pull`: [consumers](pull.md) fetch the deliveries. `broker`: they go to the [broker](brokers.md#destinations) of `broker`.',
      label: 'Delivery',
      meta: true,
    },
  ),
  description: text(10_000, { text: 'Description for people.', label: 'Description', ...seenByAll }),
  owner_id: text(256, {
    text: 'Owner, for fan-outs and portal links.',
    label: 'Customer',
    ...seenByAll,
  }),
  app_id: text(256, {
    text: 'Second name of the endpoint for events, on create only. Default: its id.',
    label: oldCallers,
    file: oldCallers,
    given: 'create',
    hidden: true,
  }),
  status: choice(
    { of: endpointStatuses, usual: 'active' as EndpointStatus },
    {
      text: '`paused`: deliveries wait. `inactive`: they are discarded. `pending`: they wait for the answer to the challenge.',
      label: { why: 'it has buttons of its own' },
      file: { why: 'the file names it only if it is not active' },
      given: 'never',
      meta: true,
    },
  ),
  advanced_signatures: flag(true, {
    text: 'The Convoy signature includes a timestamp.',
    label: 'Timestamp in the Convoy signature',
    meta: true,
  }),
  content_type: choice(
    { of: ['application/json', 'application/x-www-form-urlencoded'], usual: 'application/json' as string },
    { text: 'Body of the deliveries: JSON or form fields.', label: 'Body', meta: true },
  ),
  cloudevents: field(
    { usual: '' as CloudEventForm, input: oneOf(cloudForms) },
    {
      text: 'Sends each event as a [CloudEvent](cloudevents.md#out): `binary` or `structured`. Empty: as it came.',
      label: 'CloudEvents',
      meta: true,
    },
  ),
  http_timeout: count(120, {
    text: 'Timeout of a whole exchange in seconds. 0: that of the project.',
    label: 'Timeout (s)',
    meta: true,
  }),
  final_status_codes: field(
    { usual: [] as number[], input: StatusCodes },
    {
      text: 'As `final_status_codes` of the project, for this endpoint. Empty: those of the project.',
      label: 'Final status codes',
      meta: true,
    },
  ),
  rate_limit: count(1_000_000, {
    text: 'Sends in any interval of `rate_limit_duration`. 0: no limit.',
    label: 'Rate limit (deliveries)',
    meta: true,
  }),
  rate_limit_duration: count(86_400, {
    text: 'Length of that interval in seconds.',
    label: 'Interval (s)',
    meta: true,
  }),
  support_email: field(
    {
      usual: '',
      input: Type.String({ maxLength: 320, pattern: '^$|^[^@\\s]+@[^@\\s]+$' }),
    },
    { text: 'Gets the [alerts](alerts.md) of the endpoint by mail.', label: 'Alert email', ...seenByAll },
  ),
  expires_at: field(
    {
      usual: null as number | null,
      input: nullable(Type.String({ format: 'date-time' })),
    },
    {
      text: 'From this time on the endpoint is inactive. Null: it does not expire.',
      label: 'Expires',
      hidden: true,
    },
  ),
  verification: choice(
    { of: verifications, usual: 'none' as Verification },
    {
      text: '`challenge`: the URL has to [echo a signed challenge](verifying.md#challenges) before the first delivery, and again after it changes.',
      label: 'Verification',
      portal: true,
      meta: true,
    },
  ),
  /** The URL that has answered the challenge. */
  verified_url: text(2048, {
    text: 'The URL that has answered the challenge.',
    label: { why: 'only an answer sets it' },
    file: { why: 'only an answer sets it' },
    given: 'never',
    hidden: true,
  }),
  metadata: field(
    {
      usual: {} as Readonly<Record<string, string>>,
      input: Type.Record(Type.String(), Type.String({ maxLength: 1024 }), {
        maxProperties: 20,
        propertyNames: { pattern: '^[A-Za-z0-9._-]{1,64}$' },
      }),
    },
    {
      text: 'At most 20 texts of your own by name, such as `{"plan": "gold"}`. Lists find them.',
      label: { why: 'it has a field of its own' },
      meta: true,
    },
  ),
  envelope: choice(
    { of: endpointEnvelopes, usual: 'project' as EndpointEnvelope },
    {
      text: '`standard`: JSON bodies are `{"type", "timestamp", "data"}` around the payload, unless they are CloudEvents. `none`: the payload. `project`: as the project.',
      label: 'Envelope',
      portal: true,
      meta: true,
    },
  ),
  envelope_fields: field(
    {
      usual: {} as EnvelopeFields,
      input: Type.Record(Type.String(), oneOf(envelopeParts), {
        maxProperties: 10,
        propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_-]{0,63}$' },
      }),
    },
    {
      text: 'An envelope with names of its own in place of `envelope`: each member holds the `id` (that of `webhook-id`), `type`, `time` or `data` of the event, or `null`.',
      label: { why: 'the formats of few receivers need it' },
      portal: true,
      meta: true,
    },
  ),
  max_body_bytes: count(1_073_741_824, {
    text: 'Largest body of a request. A delivery with a larger one is not sent and ends as `Failure`. 0: any size.',
    label: { why: 'few receivers have such a limit' },
    meta: true,
  }),
  webhook_id: choice(
    { of: webhookIds, usual: 'delivery' as WebhookId },
    {
      text: '`webhook-id` of the requests: the id of the delivery, or `event`: that of the event. Then no two subscriptions of the endpoint may match the same event.',
      label: 'webhook-id',
      portal: true,
      meta: true,
    },
  ),
  user_agent: field(
    { usual: '', input: UserAgent },
    {
      text: '`User-Agent` of the deliveries. Empty: that of the project.',
      label: 'User agent',
      meta: true,
    },
  ),
  key,
};

export type EndpointFields = Values<typeof endpointFields>;
