import { useQuery } from '@tanstack/react-query';
import type { CustomerHealth } from 'posthorn-client';
import { useContext } from 'react';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { rangeOf, TimeFilter } from '../../dashboard/lists/time-filter.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { HealthBadge } from '../../dashboard/trouble.tsx';
import { useProject } from '../../data/project.ts';
import { useFilters } from '../../data/search.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { FilterBar } from '../../ui/controls/filter-controls.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Link } from '../../ui/text/link.tsx';
import { count, percent } from '../../ui/text/numbers.ts';
import { Time, TimeStyleContext } from '../../ui/text/time.tsx';

const MOST = 1_000;

/** The customers of a project, the worst first. A customer is the owner id of endpoints. */
export function Customers() {
  const { api, id } = useProject();
  const [search, setSearch] = useFilters();
  const time = search['time'] ?? '2h';
  const range = rangeOf(time, useContext(TimeStyleContext).utc);
  const customers = useQuery({
    queryKey: [id, 'customers', time],
    queryFn: () => api.dashboard.getHealth({ ...range, by: 'customer', limit: MOST }),
    refetchInterval: 5000,
    placeholderData: (before) => before,
  });
  return (
    <PageBody>
      <PageHead title="Customers" />
      <FilterBar>
        <TimeFilter value={time} onChange={(chosen) => setSearch({ time: chosen })} />
      </FilterBar>
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
  const { at } = useProject();
  const columns: TableColumn<CustomerHealth>[] = [
    {
      name: 'Customer',
      cell: ({ owner_id }) => <CustomerLink owner={owner_id} none="no customer" />,
    },
    { name: 'State', cell: ({ state }) => <HealthBadge state={state} /> },
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
          <Link className="link" href={at(`endpoints/${worst_endpoint_id}`)}>
            {worst_endpoint_name}
          </Link>
        ),
    },
  ];
  return <PlainTable label="Customers" rows={rows} columns={columns} rowKey={({ owner_id }) => owner_id} />;
}
