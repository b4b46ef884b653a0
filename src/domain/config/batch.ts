import type { Secret } from '../../platform/secret.ts';
import { type DeliveryKind, type EndpointSecrets, isFetched } from './endpoint.ts';

/** The deliveries of a subscription are sent many at a time. The limit that is reached first makes a batch. */
export interface Batch {
  /** Deliveries. */
  max: number;
  /** Bytes of their payloads. A larger payload is a batch of its own. */
  max_bytes: number;
  /** How long the first of them waits for others. */
  max_wait_seconds: number;
}

export const MAX_BATCH = 1_000;
export const MAX_BATCH_BYTES = 10_000_000;
export const MAX_BATCH_WAIT_SECONDS = 300;

/** The limits that are not given. */
export const USUAL_BATCH: Batch = { max: 100, max_bytes: 1_000_000, max_wait_seconds: 5 };

/** The batches of an object store, where no limit is given: few large objects. */
const OBJECT_BATCH: Batch = { max: 1_000, max_bytes: 5_000_000, max_wait_seconds: 60 };

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
