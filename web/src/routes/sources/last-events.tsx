import { useQuery } from '@tanstack/react-query';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { Link } from '../../ui/text/link.tsx';
import { Time } from '../../ui/text/time.tsx';

export function LastEvents({ source }: { source: string }) {
  const { api, id, at } = useProject();
  const events = useQuery({
    queryKey: [id, 'source', source, 'events'],
    queryFn: () => api.events.list({ sourceId: [source], perPage: 10 }).page(),
    refetchInterval: 3000,
  });
  return (
    <Section title="Last events">
      <QueryView query={events} label="Loading events" rows={3}>
        {({ content }) =>
          content.length === 0 ? (
            <p className="text-muted">Nothing has come in yet.</p>
          ) : (
            <ul className="border-t border-line">
              {content.map((event) => (
                <li
                  key={event.uid}
                  className="relative flex min-h-8 items-center gap-3 border-b border-line hover:bg-hover"
                >
                  <Link
                    className="link grow truncate after:absolute after:inset-0"
                    href={at(`events/${event.uid}`)}
                  >
                    {event.event_type}
                  </Link>
                  <span className="text-xs text-muted">
                    <Time at={event.created_at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
    </Section>
  );
}
