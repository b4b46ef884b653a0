import { useQuery } from '@tanstack/react-query';
import { useProject } from '../../data/project.ts';
import { DeliveryLines } from '../../parts/delivery-lines.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';

export function RecentDeliveries({ endpoint }: { endpoint: string }) {
  const { api, id, at } = useProject();
  const recent = useQuery({
    queryKey: [id, 'endpoint', endpoint, 'recent'],
    queryFn: () => api.eventDeliveries.list({ endpointId: [endpoint], perPage: 10 }).page(),
    refetchInterval: 3000,
  });
  return (
    <Section
      title="Latest deliveries"
      aside={
        <span className="flex gap-4">
          <Link
            className="link"
            href={withSearch(at('deliveries'), { endpoint, state: 'Failure', time: '2h' })}
          >
            Failures of the last 2 h
          </Link>
          <Link className="link" href={withSearch(at('deliveries'), { endpoint })}>
            All
          </Link>
        </span>
      }
    >
      <QueryView query={recent} label="Loading deliveries" rows={4}>
        {({ content }) => <DeliveryLines deliveries={content} none="Nothing has been sent to it yet." />}
      </QueryView>
    </Section>
  );
}
