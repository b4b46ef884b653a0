import { useQuery } from '@tanstack/react-query';
import type { Event, ListEventsQuery } from 'posthorn-client';
import { useProject } from '../data/project.ts';
import { PageLink } from '../parts/page-link.tsx';
import { QueryView } from '../parts/query-view.tsx';
import { Section } from '../ui/page/section.tsx';
import { Link } from '../ui/text/link.tsx';
import { Time } from '../ui/text/time.tsx';

interface Props {
  title: string;
  query: ListEventsQuery;
  /** The filters of the list that has all of them. */
  filters: Readonly<Record<string, string>>;
  /** The text of an empty list. */
  none: string;
}

/** The latest events that a query finds. */
export function LatestEvents({ title, query, filters, none }: Props) {
  const { api, id } = useProject();
  const events = useQuery({
    queryKey: [id, 'latest events', query],
    queryFn: () => api.events.list(query).page(),
    refetchInterval: 3000,
  });
  const all = (
    <PageLink to="events" filters={filters}>
      All
    </PageLink>
  );
  return (
    <Section title={title} aside={all}>
      <QueryView query={events} label="Loading events" rows={3}>
        {({ content }) => <EventLines events={content} none={none} />}
      </QueryView>
    </Section>
  );
}

/** Events, one per line, with the reason of those that went nowhere. */
function EventLines({ events, none }: { events: readonly Event[]; none: string }) {
  const { at } = useProject();
  if (events.length === 0) return <p className="text-muted">{none}</p>;
  return (
    <ul className="border-t border-line">
      {events.map((event) => (
        <li
          key={event.uid}
          className="relative flex min-h-8 items-center gap-3 border-b border-line hover:bg-hover"
        >
          <Link className="link truncate after:absolute after:inset-0" href={at(`events/${event.uid}`)}>
            {event.event_type}
          </Link>
          <span className="min-w-0 grow truncate text-muted">{event.failure_reason}</span>
          <span className="text-xs text-muted">
            <Time at={event.created_at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
