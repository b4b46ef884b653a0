import type { Static } from 'typebox';
import { Type } from '../../platform/type.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { Queryable } from '../../store/database/database.ts';
import { breakerOpenings } from '../../store/limits/breakers.ts';
import { iso, isoOrNull, NullableTime, Time } from '../http/fields.ts';

export const BreakerOpening = Type.Object({
  endpoint_id: Type.String(),
  endpoint_name: Type.String(),
  owner_id: Type.String(),
  opened_at: Time,
  closed_at: Type.Union([NullableTime], { description: 'Null: it is still open.' }),
});

/** When breakers were open in a range. Endpoints that were deleted since have no name, and are left out. */
export async function readOpenings(
  tx: Queryable,
  { project, endpoints }: ProjectRouting,
  asked: Parameters<typeof breakerOpenings>[2],
): Promise<Static<typeof BreakerOpening>[]> {
  const rows = await breakerOpenings(tx, project.id, asked);
  return rows.flatMap(({ endpoint_id, opened_at, closed_at }) => {
    const endpoint = endpoints.get(endpoint_id)?.row;
    if (endpoint === undefined) return [];
    const { name: endpoint_name, owner_id } = endpoint;
    const times = { opened_at: iso(opened_at), closed_at: isoOrNull(closed_at) };
    return [{ endpoint_id, endpoint_name, owner_id, ...times }];
  });
}
