import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Section } from '../ui/page/section.tsx';
import { Link, withSearch } from '../ui/text/link.tsx';
import { DeliveryLines } from './delivery-lines.tsx';
import { QueryView } from './query-view.tsx';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

/** The latest deliveries of an endpoint. The children are further ways to its deliveries. */
export function RecentDeliveries({ endpoint, children }: { endpoint: string; children?: ReactNode }) {
  const { endpoints: t } = useWords();
  const { api, project, at } = useSite();
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
          <Link className="link" href={withSearch(at('deliveries'), { endpoint })}>
            {t.all}
          </Link>
        </span>
      }
    >
      <QueryView query={recent} rows={4}>
        {({ content }) => <DeliveryLines deliveries={content} none={t.noDeliveries} />}
      </QueryView>
    </Section>
  );
}
