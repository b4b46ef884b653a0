import { useQuery } from '@tanstack/react-query';
import { EventLines } from '../../dashboard/event-lines.tsx';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';

export function LastEvents({ source }: { source: string }) {
  const { api, id, at } = useProject();
  const events = useQuery({
    queryKey: [id, 'source', source, 'events'],
    queryFn: () => api.events.list({ sourceId: [source], perPage: 10 }).page(),
    refetchInterval: 3000,
  });
  return (
    <Section
      title="Last events"
      aside={
        <Link className="link" href={withSearch(at('events'), { source })}>
          All
        </Link>
      }
    >
      <QueryView query={events} label="Loading events" rows={3}>
        {({ content }) => <EventLines events={content} none="Nothing has come in yet." />}
      </QueryView>
    </Section>
  );
}
