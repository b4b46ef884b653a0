import { isDeepStrictEqual } from 'node:util';
import { wantsBatches } from '../domain/config/batch.ts';
import { AppError } from '../domain/errors.ts';
import { endpointFields } from '../domain/resources/endpoint-fields.ts';
import { usualValues } from '../domain/resources/fields.ts';
import type { SubscriptionFields } from '../domain/resources/subscription-fields.ts';
import { functionContract } from '../routing/function-contract.ts';
import type { Queryable } from '../store/database/database.ts';
import { nodesBefore } from '../store/queue/nodes.ts';
import { refuseNodesBefore } from '../store/upkeep/migrate.ts';
import type { NewEndpoint } from './new-endpoint.ts';

/** The migration from which on nodes know a setting, by its field. */
const KNOWN_SINCE = {
  // An older node that ends a delivery lets no other go, and stores events without their keys.
  ordering: '0002',
  // Receivers that trust the keys of the project alone would refuse what an older node sends.
  signing_keys: '0003',
  envelope: '0003',
  webhook_id: '0003',
  cloudevents: '0003',
  expires_at: '0003',
  verification: '0003',
  envelope_fields: '0006',
  max_body_bytes: '0006',
  headers: '0003',
  // To an older node the `export` of a version is a syntax error.
  function: '0003',
  // An older node would send deliveries of a project that moves.
  cells: '0007',
  // An older node would send the deliveries of a batch one by one.
  batch: '0008',
  // An older node takes any kind that it does not know for pull.
  delivery: '0005',
  // An older node would sign in with an empty key.
  credentials: '0005',
} as const;

/** An older node would work as if the setting was not made. So none may run now, and none may start from now on. */
export async function needNewerNodes(tx: Queryable, field: keyof typeof KNOWN_SINCE): Promise<void> {
  const since = KNOWN_SINCE[field];
  const older = await nodesBefore(tx, since);
  if (older.length > 0) throw new AppError('older_nodes', { field, nodes: older.join(', ') });
  await refuseNodesBefore(tx, since);
}

export async function needNodesThatKnow(
  tx: Queryable,
  fields: SubscriptionFields,
  known: SubscriptionFields | undefined,
): Promise<void> {
  if (fields.ordering !== null && (known?.ordering ?? null) === null) await needNewerNodes(tx, 'ordering');
  if (fields.batch !== null && (known?.batch ?? null) === null) await needNewerNodes(tx, 'batch');
  if (fields.function === known?.function) return;
  const contract = functionContract(fields.function);
  if (!contract.ok || contract.script !== fields.function) await needNewerNodes(tx, 'function');
}

/** Settings of endpoints without which a receiver would not understand its deliveries, or get too many. */
const FORMS = [
  'envelope',
  'envelope_fields',
  'max_body_bytes',
  'webhook_id',
  'cloudevents',
  'expires_at',
  'verification',
] as const;

/** `known` is null for a new endpoint. */
export async function needNodesThatSendSo(
  tx: Queryable,
  made: NewEndpoint,
  known: NewEndpoint | null,
): Promise<void> {
  const before = known ?? usualValues(endpointFields);
  const changed = FORMS.filter((name) => !isDeepStrictEqual(made[name], before[name]));
  for (const field of changed) await needNewerNodes(tx, field);
  if (made.delivery === 'broker' && before.delivery !== 'broker') await needNewerNodes(tx, 'delivery');
  if (wantsBatches(made) && (known === null || !wantsBatches(known))) await needNewerNodes(tx, 'batch');
  if (headersOf(made).length > 0 && (known === null || headersOf(known).length === 0))
    await needNewerNodes(tx, 'headers');
}

const headersOf = ({ secret }: NewEndpoint) => Object.keys(secret.revealOrNull()?.headers ?? {});
