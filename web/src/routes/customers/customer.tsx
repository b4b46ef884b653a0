import { useQuery } from '@tanstack/react-query';
import type { EndpointHealth } from 'posthorn-client';
import { useContext } from 'react';
import { LatestEvents } from '../../dashboard/event-lines.tsx';
import { useOpenId } from '../../dashboard/lists/list-layout.tsx';
import { rangeOf } from '../../dashboard/lists/time-filter.tsx';
import { May } from '../../dashboard/may.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useProject } from '../../data/project.ts';
import { EndpointBadge } from '../../parts/badges.tsx';
import { DeliveryLines } from '../../parts/delivery-lines.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';
import { count, percent } from '../../ui/text/numbers.ts';
import { TimeStyleContext } from '../../ui/text/time.tsx';
import { SeePortal } from './see-portal.tsx';

/** A customer: their endpoints, how they do, and what failed last. */
export function Customer() {
  const { api, id, at } = useProject();
  const owner = useOpenId() ?? '';
  const { utc } = useContext(TimeStyleContext);
  const endpoints = useQuery({
    queryKey: [id, 'customer', owner],
    queryFn: () => api.dashboard.getHealth({ ownerId: [owner], ...rangeOf('24h', utc), limit: 1_000 }),
    refetchInterval: 5000,
  });
  const columns: TableColumn<EndpointHealth>[] = [
    {
      name: 'Endpoint',
      cell: ({ endpoint_id, name }) => <PageLink to={`endpoints/${endpoint_id}`}>{name}</PageLink>,
    },
    { name: 'State', cell: (row) => <EndpointBadge of={row} /> },
    { name: 'Open deliveries', cell: ({ open }) => count(open) },
    { name: 'Delivered, 24 h', cell: ({ delivered }) => count(delivered) },
    { name: 'Failed attempts, 24 h', cell: ({ failed_attempts }) => count(failed_attempts) },
    { name: 'Share', cell: ({ failed_share }) => percent(failed_share) },
    { name: 'Address', cell: ({ url }) => <span className="text-muted">{url}</span> },
  ];
  return (
    <PageBody>
      <PageHead title={owner} beside={<span className="text-muted">customer</span>}>
        <span className="mr-2 flex gap-4">
          {['failures', 'deliveries', 'events'].map((page) => (
            <Link key={page} className="link capitalize" href={withSearch(at(page), { customer: owner })}>
              {page}
            </Link>
          ))}
        </span>
        <May use="createPortalLink">
          <SeePortal owner={owner} />
        </May>
      </PageHead>
      <QueryView query={endpoints} label="Loading the customer">
        {({ endpoints: content }) =>
          content.length === 0 ? (
            <EmptyState
              title="No endpoints"
              text="No endpoint belongs to this customer. The customer of an endpoint is its owner id."
            />
          ) : (
            <>
              <PlainTable
                label="Endpoints"
                rows={content}
                columns={columns}
                rowKey={({ endpoint_id }) => endpoint_id}
              />
              <Failures owner={owner} />
            </>
          )
        }
      </QueryView>
      <LatestEvents
        title="Sent to them, matched nothing"
        query={{ ownerId: owner, unmatched: true, perPage: 5 }}
        filters={{ customer: owner, matched: 'nothing' }}
        none="Every event that was sent to them went to an endpoint."
      />
    </PageBody>
  );
}

function Failures({ owner }: { owner: string }) {
  const { api, id } = useProject();
  const failures = useQuery({
    queryKey: [id, 'customer failures', owner],
    queryFn: () =>
      api.eventDeliveries.list({ ownerId: owner, status: ['Failure', 'Retry'], perPage: 10 }).page(),
    refetchInterval: 5000,
  });
  return (
    <Section title="Last failures">
      <QueryView query={failures} label="Loading failures" rows={3}>
        {({ content }) => (
          <DeliveryLines
            deliveries={content}
            none="No delivery of theirs has failed for good or waits for a retry."
            showEndpoint
          />
        )}
      </QueryView>
    </Section>
  );
}
