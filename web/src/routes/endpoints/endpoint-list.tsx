import { useQuery } from '@tanstack/react-query';
import type { Endpoint, EndpointHealth } from 'posthorn-client';
import { useMemo, useState } from 'react';
import { AgentMark } from '../../dashboard/agent-mark.tsx';
import { createCommand } from '../../dashboard/commands.ts';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { EmptyList } from '../../dashboard/lists/empty-list.tsx';
import { ListLayout } from '../../dashboard/lists/list-layout.tsx';
import { LiveList } from '../../dashboard/lists/live-list.tsx';
import { May } from '../../dashboard/may.tsx';
import { useProject } from '../../data/project.ts';
import { useRows } from '../../data/rows.ts';
import { cleared, useFilters } from '../../data/search.ts';
import { EndpointBadge } from '../../parts/badges.tsx';
import { addressOf } from '../../parts/brokers/broker-address.ts';
import { PauseButton } from '../../parts/endpoint-acts.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { FilterBar, FilterText } from '../../ui/controls/filter-controls.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { withSearch } from '../../ui/text/link.tsx';
import { count, percent } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';
import { AddEndpoint } from './add-endpoint.tsx';

type Healths = ReadonlyMap<string, EndpointHealth>;

const whereTo = (endpoint: Endpoint): string =>
  endpoint.delivery === 'pull' ? 'Pull: a consumer fetches them' : addressOf(endpoint);

/** The health of an endpoint is another answer. Until it has come its cells are dashes. */
const columnsOf = (health: Healths): Column<Endpoint>[] => [
  {
    name: 'Name',
    width: 'minmax(8rem, 1fr)',
    line: 1,
    cell: (endpoint) => (
      <>
        {endpoint.name}
        <AgentMark of={endpoint} />
      </>
    ),
  },
  { name: 'State', width: '10rem', line: 1, cell: (endpoint) => <EndpointBadge endpoint={endpoint} /> },
  {
    name: 'Address',
    width: 'minmax(9rem, 1.5fr)',
    from: 640,
    line: 2,
    cell: (endpoint) => <span className="text-muted">{whereTo(endpoint)}</span>,
  },
  {
    name: 'Customer',
    width: 'minmax(5rem, 9rem)',
    from: 860,
    cell: ({ owner_id }) => <CustomerLink owner={owner_id} />,
  },
  {
    name: 'Failed, 24 h',
    width: '6rem',
    from: 480,
    right: true,
    cell: ({ uid }) => percent(health.get(uid)?.failed_share),
  },
  { name: 'Open', width: '4.5rem', from: 720, right: true, cell: ({ uid }) => count(health.get(uid)?.open) },
  {
    name: 'Created',
    width: '6.5rem',
    from: 1000,
    isTime: true,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  {
    name: 'Pause',
    width: '6.5rem',
    from: 1100,
    cell: (endpoint) => (
      <May use="pauseEndpoint">
        <PauseButton endpoint={endpoint} inRow={endpoint.name} />
      </May>
    ),
  },
];

export function EndpointList() {
  const { api, id, at } = useProject();
  const [search, setSearch] = useFilters();
  const [adding, setAdding] = useState(false);
  const filters = {
    ...(search['name'] === undefined ? {} : { q: search['name'] }),
    ...(search['customer'] === undefined ? {} : { ownerId: search['customer'] }),
  };
  const rows = useRows<Endpoint>({
    key: [id, 'endpoints', filters],
    load: (page) => api.endpoints.list({ ...filters, ...page }).page(),
    live: true,
  });
  const health = useHealth();
  const add = (
    <May use="createEndpoint">
      <Button look="main" icon="plus" onClick={() => setAdding(true)}>
        Add endpoint
      </Button>
    </May>
  );
  return (
    <ListLayout>
      <PageHead title="Endpoints">{add}</PageHead>
      <FilterBar>
        <FilterText label="Name" value={search['name'] ?? ''} onChange={(name) => setSearch({ name })} />
        <FilterText
          label="Customer"
          value={search['customer'] ?? ''}
          onChange={(customer) => setSearch({ customer })}
        />
      </FilterBar>
      <LiveList
        label="Endpoints"
        noun="endpoint"
        rows={rows}
        columns={columnsOf(health)}
        href={({ uid }) => withSearch(at(`endpoints/${uid}`), search)}
        name={({ name }) => name}
        empty={
          <EmptyList
            noun="endpoint"
            text="An endpoint is a URL, or a queue or topic of a broker, that receives events."
            isFiltered={Object.keys(filters).length > 0}
            onClear={() => setSearch(cleared(search))}
            use="createEndpoint"
            add={add}
            command={createCommand(id, 'endpoints', { name: 'my receiver', url: 'http://127.0.0.1:4000/' })}
          />
        }
      />
      {adding && <AddEndpoint onClose={() => setAdding(false)} />}
    </ListLayout>
  );
}

const DAY_MS = 86_400_000;
/** The most that one answer has. They are the worst ones. */
const MOST = 1_000;

function useHealth(): Healths {
  const { api, id } = useProject();
  const { data } = useQuery({
    queryKey: [id, 'endpoints', 'health'],
    queryFn: () =>
      api.dashboard.getHealth({ startDate: new Date(Date.now() - DAY_MS).toISOString(), limit: MOST }),
    refetchInterval: 5000,
  });
  return useMemo(() => new Map(data?.endpoints.map((one) => [one.endpoint_id, one])), [data]);
}
