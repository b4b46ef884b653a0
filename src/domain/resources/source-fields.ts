import { nullable, oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import { type SourceProviderConfig, type SourceType, sourceTypes } from '../config/source.ts';
import { count, field, flag, key, name, text, type Values } from './fields.ts';

const ofService = { why: 'the service sets it' };
const texts: string[] = [];

export const sourceFields = {
  name,
  type: field(
    { usual: 'http' as SourceType, input: oneOf(sourceTypes) },
    { text: '[Type](sources.md) of the source.', label: 'Provider', required: true, meta: true },
  ),
  provider: text(256, {
    text: '[Preset](sources.md#verification) of a known sender. Needs only `verifier.hmac.secret`. Cannot be changed.',
    label: 'What is checked',
    given: 'create',
    meta: true,
  }),
  mask_id: text(64, {
    text: 'Id of the source in its ingest URL.',
    label: ofService,
    file: ofService,
    given: 'never',
  }),
  is_disabled: flag(false, {
    text: 'The source refuses every request with 403.',
    label: { why: 'it has a button of its own' },
    meta: true,
  }),
  body_function: text(262_144, {
    text: 'JavaScript that changes the incoming payload.',
    label: 'Function of the payload',
  }),
  header_function: text(262_144, {
    text: 'JavaScript that changes the incoming headers.',
    label: 'Function of the headers',
  }),
  idempotency_keys: field(
    {
      usual: texts,
      input: Type.Array(Text(512), { maxItems: 20 }),
    },
    {
      text: '[Locations](sources.md#event-type-and-idempotency) that identify an event, such as `request.body.id`.',
      label: 'Idempotency keys',
    },
  ),
  event_type_location: text(512, {
    text: '[Location](sources.md#event-type-and-idempotency) of the event type, such as `request.body.type`. With a signature, in the body or a header. Empty: the `mask_id`.',
    label: 'Event type from',
  }),
  forward_headers: field(
    {
      usual: texts,
      input: Type.Array(RequiredText(256), { maxItems: 100 }),
    },
    { text: 'Headers forwarded with each delivery.', label: 'Forwarded headers' },
  ),
  cloudevents: flag(true, {
    text: 'Reads requests with [CloudEvents](cloudevents.md), and answers the handshakes of their senders. Off in sources of version 0.1.0.',
    label: 'Reads CloudEvents',
  }),
  unsigned_cloudevents: flag(false, {
    text: 'Reads CloudEvents in `ce-` headers although a [signature](cloudevents.md#in-headers-of-a-signed-body) covers the body alone.',
    label: 'Believes unsigned headers of CloudEvents',
  }),
  custom_response: field(
    {
      usual: { body: '', content_type: '' },
      input: Type.Object({
        body: Type.Optional(
          Type.String({ description: 'Body of the response to the sender, 51,200 bytes at most.' }),
        ),
        content_type: Type.Optional(Text(256, 'JSON, plain text, XML or form. Empty: plain text.')),
      }),
      output: Type.Object({ body: Type.String(), content_type: Type.String() }),
    },
    { text: 'Response to the sender.', label: 'Response body' },
  ),
  provider_config: field(
    {
      usual: null as SourceProviderConfig | null,
      input: Type.Null(),
      output: nullable(
        Type.Object({
          twitter: Type.Object({
            crc_verified_at: nullable(Type.String({ format: 'date-time' })),
          }),
        }),
      ),
    },
    { text: 'When the provider last verified the URL.', label: ofService, file: ofService, given: 'never' },
  ),
  rate_limit: count(1_000_000, {
    text: 'Events accepted in any interval of `rate_limit_duration`. 0: no limit.',
    label: 'Events',
  }),
  rate_limit_duration: count(86_400, { text: 'Length of that interval in seconds.', label: 'in seconds' }),
  key,
};

export type SourceFields = Values<typeof sourceFields>;
