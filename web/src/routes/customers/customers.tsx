import { useQuery } from '@tanstack/react-query';
import type { CustomerHealth } from 'posthorn-client';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { ListFilterBar, TIME, useListFilters } from '../../dashboard/lists/list-filters.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useProject } from '../../data/project.ts';
import { EndpointBadge } from '../../parts/badges.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { count, percent } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';

const MOST = 1_000;
const FILTERS = { time: { ...TIME, usual: '2h' } };

/** The customers of a project, the worst first. A customer is the owner id of endpoints. */
export function Customers() {
  const { api, id } = useProject();
  const filtered = useListFilters(FILTERS);
  const { query } = filtered;
  const customers = useQuery({
    queryKey: [id, 'customers', query],
    queryFn: () => api.dashboard.getHealth({ ...query, by: 'customer', limit: MOST }),
    refetchInterval: 5000,
    placeholderData: (before) => before,
  });
  return (
    <PageBody>
      <PageHead title="Customers" />
      <ListFilterBar filtered={filtered} />
      <QueryView query={customers} label="Looking at the customers">
        {({ customers: rows }) =>
          rows.length === 0 ? (
            <EmptyState title="No customers" text="The customer of an endpoint is its owner id." />
          ) : (
            <Table rows={rows} />
          )
        }
      </QueryView>
    </PageBody>
  );
}

function Table({ rows }: { rows: CustomerHealth[] }) {
  const columns: TableColumn<CustomerHealth>[] = [
    {
      name: 'Customer',
      cell: ({ owner_id }) => <CustomerLink owner={owner_id} none="no customer" />,
    },
    { name: 'State', cell: (row) => <EndpointBadge of={row} /> },
    {
      name: 'Endpoints failing',
      cell: ({ failing_endpoints, endpoints }) => `${count(failing_endpoints)} of ${count(endpoints)}`,
    },
    { name: 'Open deliveries', cell: ({ open }) => count(open) },
    { name: 'Failed attempts', cell: ({ failed_attempts }) => count(failed_attempts) },
    { name: 'Share', cell: ({ failed_share }) => percent(failed_share) },
    { name: 'Last success', cell: ({ last_success_at }) => <Time at={last_success_at} /> },
    {
      name: 'Worst endpoint',
      cell: ({ worst_endpoint_id, worst_endpoint_name, state }) =>
        state === 'ok' ? null : (
          <PageLink to={`endpoints/${worst_endpoint_id}`}>{worst_endpoint_name}</PageLink>
        ),
    },
  ];
  return <PlainTable label="Customers" rows={rows} columns={columns} rowKey={({ owner_id }) => owner_id} />;
}
