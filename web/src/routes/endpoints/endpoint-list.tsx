import { useQuery } from '@tanstack/react-query';
import type { Endpoint, EndpointHealth, ListEndpointsQuery } from 'posthorn-client';
import { useMemo } from 'react';
import { AgentMark } from '../../dashboard/agent-mark.tsx';
import { callCommand } from '../../dashboard/commands.ts';
import { createdColumn, customerColumn } from '../../dashboard/lists/list-columns.tsx';
import { CUSTOMER, type ListFilters } from '../../dashboard/lists/list-filters.tsx';
import { ResourceList } from '../../dashboard/lists/resource-list.tsx';
import { May } from '../../dashboard/may.tsx';
import { useProject } from '../../data/project.ts';
import { EndpointBadge } from '../../parts/badges.tsx';
import { addressOf } from '../../parts/brokers/broker-address.ts';
import { PauseButton } from '../../parts/endpoint-acts.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { count, percent } from '../../ui/text/numbers.ts';
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
  {
    name: 'State',
    width: 'minmax(7rem, 14rem)',
    line: 1,
    cell: (endpoint) => <EndpointBadge of={{ ...endpoint, ...health.get(endpoint.uid) }} />,
  },
  {
    name: 'Address',
    width: 'minmax(9rem, 1.5fr)',
    from: 640,
    line: 2,
    cell: (endpoint) => <span className="text-muted">{whereTo(endpoint)}</span>,
  },
  customerColumn(({ owner_id }) => owner_id, 860),
  {
    name: 'Failed, 24 h',
    width: '6rem',
    from: 480,
    right: true,
    cell: ({ uid }) => percent(health.get(uid)?.failed_share),
  },
  { name: 'Open', width: '4.5rem', from: 720, right: true, cell: ({ uid }) => count(health.get(uid)?.open) },
  createdColumn({ from: 1000 }),
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

const filters: ListFilters<ListEndpointsQuery> = {
  name: { label: 'Name', query: (q) => ({ q }) },
  customer: CUSTOMER,
};

export function EndpointList() {
  const { id } = useProject();
  return (
    <ResourceList
      title="Endpoints"
      page="endpoints"
      noun="endpoint"
      filters={filters}
      columns={columnsOf(useHealth())}
      load={({ endpoints }, query) => endpoints.list(query)}
      name={({ name }) => name}
      add={{
        use: 'createEndpoint',
        form: AddEndpoint,
        text: 'An endpoint is a URL, or a queue or topic of a broker, that receives events.',
        command: callCommand(id, 'endpoints', { name: 'my receiver', url: 'http://127.0.0.1:4000/' }),
      }}
    />
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
