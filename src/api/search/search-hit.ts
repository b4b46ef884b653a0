import type { Static } from 'typebox';
import { oneOf, Type } from '../../platform/type.ts';
import { NullableTime } from '../http/fields.ts';

const hitKinds = [
  'event',
  'event_delivery',
  'endpoint',
  'subscription',
  'source',
  'event_type',
  'customer',
  'job',
  'meta_event',
] as const;

export const Hit = Type.Object({
  kind: oneOf(hitKinds),
  uid: Type.String({ description: 'The id, or the name of an event type or customer.' }),
  title: Type.String(),
  field: Type.String({
    description: 'Where the text was found: `name`, `idempotency_key`, `data.invoice.id`.',
  }),
  value: Type.String({
    description: 'The value with the text in it; the part around the text if it is long.',
  }),
  owner_id: Type.String({
    description:
      'The customer of an endpoint, subscription or delivery, or the only one whom an event went to. Else empty.',
  }),
  created_at: NullableTime,
});
export type SearchHit = Static<typeof Hit>;
