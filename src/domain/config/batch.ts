import type { Static } from 'typebox';
import { type FormFacts, mark, usualOf } from '../../platform/json/schema-marks.ts';
import type { Secret } from '../../platform/secret.ts';
import { Type } from '../../platform/type.ts';
import { type DeliveryKind, type EndpointSecrets, isFetched } from './endpoint.ts';

export const MAX_BATCH = 1_000;
export const MAX_BATCH_BYTES = 10_000_000;

const limit = (
  { minimum, maximum, usual }: { minimum: number; maximum: number; usual: number },
  form: FormFacts,
  text: string,
  more = '',
) => {
  const description = `${text}, up to ${maximum}. ${usual} unless given.${more}`;
  return mark(Type.Integer({ minimum, maximum, description }), {
    usual,
    form: { isShort: true, usual, ...form },
  });
};

/** The deliveries of a subscription are sent many at a time. The limit that is reached first makes a batch. */
export const Batch = Type.Object({
  max: limit(
    { minimum: 1, maximum: MAX_BATCH, usual: 100 },
    { label: 'Batches of (deliveries)', hint: '0 for one request per delivery.', usual: 0 },
    'Most deliveries of a batch',
  ),
  max_bytes: limit(
    { minimum: 1, maximum: MAX_BATCH_BYTES, usual: 1_000_000 },
    { label: 'Bytes of a batch', hint: 'A batch is sent when it has that many, too.' },
    'Most bytes of their payloads',
    ' What stands around each payload in the request is not counted.',
  ),
  max_wait_seconds: limit(
    { minimum: 0, maximum: 300, usual: 5 },
    { label: 'Longest wait (s)' },
    'Longest wait of a delivery for others',
    ' 0: none.',
  ),
});
export type Batch = Static<typeof Batch>;

export const USUAL_BATCH: Batch = usualOf(Batch.properties);

/** The batches of an object store, where no limit is given: few large objects. */
const OBJECT_BATCH: Batch = { ...USUAL_BATCH, max: 1_000, max_bytes: 5_000_000, max_wait_seconds: 60 };

/** `json`: an array. `cloudevents`: an array of CloudEvents. `lines`: one JSON object per line, for an object store. */
export type BatchForm = 'json' | 'cloudevents' | 'lines';

interface Target {
  delivery: DeliveryKind;
  secret: Secret<EndpointSecrets>;
}

/** Whether deliveries to an endpoint go in batches only: an object store keeps no object per event. */
export function wantsBatches({ delivery, secret }: Target): boolean {
  if (delivery !== 'broker') return false;
  const kind: string | undefined = secret.revealOrNull()?.broker?.type;
  return kind === 's3';
}

/** Why deliveries to an endpoint cannot go in batches. Null: they can. */
export function batchRefusal(target: Target): string | null {
  if (isFetched(target))
    return 'a consumer of a pull endpoint fetches as many deliveries at a time as it likes';
  return target.delivery === 'push' || wantsBatches(target)
    ? null
    : 'this kind of broker gets each delivery as a message of its own';
}

/** The batches of a subscription to an endpoint. Null: it has none. */
export function batchOf(given: Batch | null, target: Target | undefined): Batch | null {
  if (target === undefined || target.delivery === 'push') return given;
  return wantsBatches(target) ? (given ?? OBJECT_BATCH) : null;
}
