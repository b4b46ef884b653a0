import type { Static } from 'typebox';
import { type EndpointScope, inScope, seesEventType } from '../../domain/endpoint-scope.ts';
import { idTime } from '../../domain/ids.ts';
import { around } from '../../platform/json/json-find.ts';
import { oneOf, Type } from '../../platform/type.ts';
import { listEventTypes } from '../../store/config/event-types.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { ReadContext } from '../http/context.ts';
import { iso, NullableTime } from '../http/fields.ts';

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

/** Endpoints, customers, subscriptions, sources and event types that contain a text, at most so many of each kind. */
const MAX_OF_A_KIND = 10;

export async function searchConfig(
  { db, cache }: ReadContext,
  project: ProjectRow,
  { text, scope }: { text: string; scope: EndpointScope | undefined },
): Promise<SearchHit[]> {
  const { endpoints, subscriptions, sources } = await cache.get(project.id);
  const eventTypes = await listEventTypes(db, project.id);
  const find = finder(text);
  const rows = [...endpoints.values()]
    .map(({ row }) => row)
    .filter(({ id, delivery }) => delivery !== 'device' && inScope(scope, id));
  const owners = scope === undefined ? new Set(rows.map((row) => row.owner_id)) : [];
  return [
    ...find('customer', [...owners].filter(Boolean), (owner) => ({
      uid: owner,
      title: owner,
      fields: { owner_id: owner },
    })),
    ...find('endpoint', rows, ({ id, name, url, owner_id }) => ({
      uid: id,
      title: name,
      fields: { uid: id, name, url },
      owner: owner_id,
    })),
    ...find(
      'subscription',
      [...subscriptions.values()].filter(({ row }) => inScope(scope, row.endpoint_id)),
      ({ row: { id, name, endpoint_id } }) => ({
        uid: id,
        title: name,
        fields: { uid: id, name },
        owner: endpoints.get(endpoint_id)?.row.owner_id ?? '',
      }),
    ),
    ...find('source', scope === undefined ? sources.values() : [], ({ id, name, mask_id }) => ({
      uid: id,
      title: name,
      fields: { uid: id, name, mask_id },
    })),
    ...find(
      'event_type',
      eventTypes.filter(({ name }) => seesEventType(scope, name)),
      ({ name, description }) => ({ uid: name, title: name, fields: { name, description } }),
    ),
  ];
}

type Searched = { uid: string; title: string; fields: Record<string, string>; owner?: string };

/** Config is searched in any case, because people type its names. */
function finder(text: string) {
  const wanted = text.toLowerCase();
  return <T>(kind: SearchHit['kind'], items: Iterable<T>, of: (item: T) => Searched): SearchHit[] => {
    const hits: SearchHit[] = [];
    for (const item of items) {
      const { uid, title, fields, owner = '' } = of(item);
      const match = Object.entries(fields).find(([, value]) => value.toLowerCase().includes(wanted));
      if (match === undefined) continue;
      const [field, value] = match;
      const hasId = kind !== 'customer' && kind !== 'event_type';
      hits.push({
        kind,
        uid,
        title,
        field,
        value: around(value, text),
        owner_id: owner,
        created_at: hasId ? iso(idTime(uid)) : null,
      });
      if (hits.length === MAX_OF_A_KIND) break;
    }
    return hits;
  };
}
