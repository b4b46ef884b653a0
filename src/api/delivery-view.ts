import type { Static } from 'typebox';
import type { StoredDelivery } from '../store/event-deliveries.ts';
import type { ApiContext } from './context.ts';
import { type EventDelivery, toDelivery } from './delivery-schema.ts';

/** How deliveries of a project are shown: with their endpoints, deleted ones too, and their sources. */
export async function deliveryView(
  { db, cache, endpoints }: ApiContext,
  projectId: string,
  rows: readonly StoredDelivery[],
): Promise<(row: StoredDelivery) => Static<typeof EventDelivery>> {
  const { sources } = await cache.get(projectId);
  const ids = rows.map((row) => row.endpoint_id);
  const links = { endpoints: await endpoints.byIds(db, projectId, ids), sources };
  return (row) => toDelivery(row, links);
}
