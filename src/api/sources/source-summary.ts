import type { Static } from 'typebox';
import { sourceTypes } from '../../domain/config/source.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import type { SourceRow } from '../../store/config/sources.ts';

/** A source as events and deliveries show it, without its credentials and its address. */
export const SourceSummary = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  name: Type.String(),
  type: oneOf(sourceTypes),
  provider: Type.String(),
  is_disabled: Type.Boolean(),
  idempotency_keys: Type.Array(Type.String()),
});

export const NullableSourceSummary = nullable(SourceSummary);

/** Null if the event has no source, or a deleted one. */
export function toSourceSummary(
  sources: ReadonlyMap<string, SourceRow>,
  id: string | null,
): Static<typeof NullableSourceSummary> {
  const row = id === null ? undefined : sources.get(id);
  if (row === undefined) return null;
  return {
    uid: row.id,
    project_id: row.project_id,
    name: row.name,
    type: row.type,
    provider: row.provider,
    is_disabled: row.is_disabled,
    idempotency_keys: row.idempotency_keys,
  };
}
