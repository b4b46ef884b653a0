import { useQuery } from '@tanstack/react-query';
import type { EventDelivery } from 'posthorn-client';
import type { ReactNode } from 'react';
import { receiverOf } from '../data/delivery-state.ts';
import { Section } from '../ui/page/section.tsx';
import { Link } from '../ui/text/link.tsx';
import { Time } from '../ui/text/time.tsx';
import { DeliveryBadge } from './badges.tsx';
import { PageLink } from './page-link.tsx';
import { QueryView } from './query-view.tsx';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

interface Props {
  deliveries: readonly EventDelivery[];
  /** The text of an empty list. */
  none: string;
  showEndpoint?: boolean;
  /** More about a delivery, before its endpoint. */
  note?(delivery: EventDelivery): ReactNode;
}

/** Deliveries, one line each. The link of a line covers it. */
export function DeliveryLines({ deliveries, none, showEndpoint = false, note }: Props) {
  const { pages } = useWords();
  if (deliveries.length === 0) return <p className="text-muted">{none}</p>;
  return (
    <ul className="-mx-1 border-t border-line" aria-label={pages.deliveries}>
      {deliveries.map((delivery) => (
        <Line key={delivery.uid} delivery={delivery} showEndpoint={showEndpoint} note={note?.(delivery)} />
      ))}
    </ul>
  );
}

interface LineProps {
  delivery: EventDelivery;
  showEndpoint: boolean;
  note: ReactNode;
}

function Line({ delivery, showEndpoint, note }: LineProps) {
  const { at, why } = useSite();
  const notes = [showEndpoint ? receiverOf(delivery) : '', why(delivery)];
  return (
    <li className="relative grid min-h-8 grid-cols-[1fr_auto] items-center gap-x-4 border-b border-line px-1 py-1 hover:bg-hover sm:grid-cols-[11rem_minmax(0,1fr)_minmax(0,2fr)_6rem]">
      <DeliveryBadge delivery={delivery} />
      <Link
        href={at(`deliveries/${delivery.uid}`)}
        className="col-span-2 col-start-1 row-start-2 min-w-0 truncate font-semibold after:absolute after:inset-0 sm:col-span-1 sm:col-start-2 sm:row-start-1"
      >
        {delivery.event_type}
      </Link>
      <span className="col-span-2 col-start-1 row-start-3 min-w-0 truncate text-muted empty:hidden sm:col-span-1 sm:col-start-3 sm:row-start-1">
        {note}
        {notes.filter((text) => text !== '').join(' · ')}
      </span>
      <span className="col-start-2 row-start-1 text-right text-xs text-muted sm:col-start-4">
        <Time at={delivery.created_at} />
      </span>
    </li>
  );
}

/** The latest deliveries of an endpoint. The children are further ways to its deliveries. */
export function RecentDeliveries({ endpoint, children }: { endpoint: string; children?: ReactNode }) {
  const { endpoints: t } = useWords();
  const { api, project } = useSite();
  const recent = useQuery({
    queryKey: [project, 'endpoint', endpoint, 'recent'],
    queryFn: () => api.eventDeliveries.list({ endpointId: [endpoint], perPage: 8 }).page(),
    refetchInterval: 3000,
  });
  return (
    <Section
      title={t.lastDeliveries}
      aside={
        <span className="flex gap-4">
          {children}
          <PageLink to="deliveries" filters={{ endpoint }}>
            {t.all}
          </PageLink>
        </span>
      }
    >
      <QueryView query={recent} rows={4}>
        {({ content }) => <DeliveryLines deliveries={content} none={t.noDeliveries} />}
      </QueryView>
    </Section>
  );
}
