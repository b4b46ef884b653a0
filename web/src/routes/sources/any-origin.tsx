import { useQuery } from '@tanstack/react-query';
import type { Posthorn, Subscription } from 'posthorn-client';
import { plural } from '../../data/delivery-state.ts';
import { useProject } from '../../data/project.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { BROKERS } from './broker-settings.ts';

/** More are not looked at. */
const MOST = 1000;
const NAMED = 5;

/** The active subscriptions of endpoints of customers that take events of any origin. */
async function openSubscriptions(api: Posthorn): Promise<{ found: Subscription[]; isAll: boolean }> {
  const found: Subscription[] = [];
  let seen = 0;
  for await (const one of api.subscriptions.list({ perPage: 100 })) {
    const isOpen = one.status === 'active' && one.source_metadata === null;
    if (isOpen && (one.endpoint_metadata?.owner_id ?? '') !== '') found.push(one);
    seen += 1;
    if (seen === MOST) return { found, isAll: false };
  }
  return { found, isAll: true };
}

interface Props {
  /** The provider or the kind of broker. Empty: any sender. */
  kind: string;
  /** Where the event type of a request is. */
  location: string;
  /** The names lead to the subscriptions. A form would be lost. */
  isStored?: boolean;
}

/** Says whose endpoints get the events of a source although no subscription names it. */
export function AnyOriginWarning({ kind, location, isStored = false }: Props) {
  const { api, id } = useProject();
  const { data } = useQuery({
    queryKey: [id, 'subscriptions of any origin'],
    queryFn: () => openSubscriptions(api),
    staleTime: 30_000,
  });
  // Without a place for the type every event has one type: the id of the source, which only `*` matches.
  const hasOneType = kind === '' && location === '';
  const reached = (data?.found ?? []).filter(
    ({ filter_config }) => !hasOneType || filter_config.event_types.includes('*'),
  );
  if (reached.length === 0) return null;
  // Other messages of a broker name their endpoint or customer.
  const isBroker = kind !== 'postgres' && BROKERS[kind] !== undefined;
  const distinct = (pick: (one: Subscription) => string | undefined) => new Set(reached.map(pick)).size;
  const endpoints = distinct((one) => one.endpoint_metadata?.uid);
  const customers = distinct((one) => one.endpoint_metadata?.owner_id);
  return (
    <section
      aria-label="Events of this source may reach customers"
      className="my-3 grid max-w-[75ch] gap-1 rounded-md border border-edge bg-panel p-3"
    >
      <p>
        <strong>
          {isBroker ? 'Broadcast messages' : 'Events'} of this source may reach{' '}
          {data?.isAll === false && 'at least '}
          {plural(endpoints, 'endpoint', 'endpoints')} of {plural(customers, 'customer', 'customers')}.
        </strong>{' '}
        Their subscriptions take events of any origin. To limit one to a source, edit it and choose its
        source:
      </p>
      <ul className="list-inside list-disc">
        {reached.slice(0, NAMED).map(({ uid, name, endpoint_metadata: endpoint }) => (
          <li key={uid} className="break-words">
            {isStored ? <PageLink to={`subscriptions/${uid}`}>{name}</PageLink> : name}
            <span className="text-muted"> of {endpoint?.owner_id}</span>
          </li>
        ))}
        {reached.length > NAMED && <li>{reached.length - NAMED} more</li>}
      </ul>
    </section>
  );
}
