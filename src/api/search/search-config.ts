import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { inScope, seesEventType } from '../../domain/endpoint-scope.ts';
import { idTime } from '../../domain/ids.ts';
import { around } from '../../platform/json/json-find.ts';
import { listEventTypes } from '../../store/config/event-types.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { ApiContext } from '../http/context.ts';
import { iso } from '../http/fields.ts';
import type { SearchHit } from './search-hit.ts';

/** Endpoints, customers, subscriptions, sources and event types that contain a text, at most so many of each kind. */
const MAX_OF_A_KIND = 10;

export async function searchConfig(
  { db, cache }: ApiContext,
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
