import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { useOpenId } from '../../dashboard/lists/list-layout.tsx';
import { May } from '../../dashboard/may.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useProject } from '../../data/project.ts';
import { EndpointBadge } from '../../parts/badges.tsx';
import { DeliveryLines } from '../../parts/delivery-lines.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';
import { percent } from '../../ui/text/numbers.ts';
import { SeePortal } from './see-portal.tsx';
import { Unmatched } from './unmatched.tsx';

/** A customer: their endpoints, how they do, and what failed last. */
export function Customer() {
  const { api, id, at } = useProject();
  const owner = useOpenId() ?? '';
  const endpoints = useQuery({
    queryKey: [id, 'customer', owner],
    queryFn: () => api.endpoints.list({ ownerId: owner, perPage: 100 }).page(),
    refetchInterval: 5000,
  });
  const columns: TableColumn<Endpoint>[] = [
    {
      name: 'Endpoint',
      cell: ({ uid, name }) => (
        <Link className="link" href={at(`endpoints/${uid}`)}>
          {name}
        </Link>
      ),
    },
    { name: 'State', cell: (endpoint) => <EndpointBadge endpoint={endpoint} /> },
    { name: 'Failed, 30 d', cell: ({ failure_rate }) => percent(failure_rate) },
    { name: 'Address', cell: ({ url }) => <span className="text-muted">{url}</span> },
  ];
  return (
    <PageBody>
      <PageHead title={owner} beside={<span className="text-muted">customer</span>}>
        <Link className="link" href={withSearch(at('events'), { customer: owner })}>
          Events
        </Link>
        <May use="createPortalLink">
          <SeePortal owner={owner} />
        </May>
      </PageHead>
      <QueryView query={endpoints} label="Loading the customer">
        {({ content }) =>
          content.length === 0 ? (
            <EmptyState
              title="No endpoints"
              text="No endpoint belongs to this customer. The customer of an endpoint is its owner id."
            />
          ) : (
            <>
              <PlainTable label="Endpoints" rows={content} columns={columns} rowKey={({ uid }) => uid} />
              <Failures endpoints={content.map(({ uid }) => uid)} />
            </>
          )
        }
      </QueryView>
      <Unmatched owner={owner} />
    </PageBody>
  );
}

function Failures({ endpoints }: { endpoints: string[] }) {
  const { api, id } = useProject();
  const failures = useQuery({
    queryKey: [id, 'customer failures', endpoints],
    queryFn: () =>
      api.eventDeliveries.list({ endpointId: endpoints, status: ['Failure', 'Retry'], perPage: 10 }).page(),
    refetchInterval: 5000,
  });
  return (
    <Section title="Last failures">
      <QueryView query={failures} label="Loading failures" rows={3}>
        {({ content }) => <DeliveryLines deliveries={content} none="Nothing has failed." showEndpoint />}
      </QueryView>
    </Section>
  );
}
