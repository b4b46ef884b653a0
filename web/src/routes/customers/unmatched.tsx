import { useQuery } from '@tanstack/react-query';
import { EventLines } from '../../dashboard/event-lines.tsx';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';

/** Events that were sent to the customer and went nowhere. */
export function Unmatched({ owner }: { owner: string }) {
  const { api, id, at } = useProject();
  const events = useQuery({
    queryKey: [id, 'customer', owner, 'unmatched'],
    queryFn: () => api.events.list({ ownerId: owner, unmatched: true, perPage: 5 }).page(),
    refetchInterval: 5000,
  });
  return (
    <Section
      title="Sent to them, matched nothing"
      aside={
        <Link className="link" href={withSearch(at('events'), { customer: owner, matched: 'nothing' })}>
          All
        </Link>
      }
    >
      <QueryView query={events} label="Loading events" rows={2}>
        {({ content }) => (
          <EventLines events={content} none="Every event that was sent to them went to an endpoint." />
        )}
      </QueryView>
    </Section>
  );
}
