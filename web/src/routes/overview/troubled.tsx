import { useQuery } from '@tanstack/react-query';
import type { Endpoint, Posthorn } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { EndpointBadge } from '../../parts/badges.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';
import { count, percent } from '../../ui/text/numbers.ts';

interface Trouble {
  endpoint: Endpoint;
  failed: number;
  retrying: number;
  rate: number | null;
}

/** Endpoints whose deliveries fail or wait, the most harmful first. */
export function Troubled({ time, range }: { time: string; range: TimeRange }) {
  const { api, id } = useProject();
  const troubled = useQuery({
    queryKey: [id, 'overview', 'troubled', time],
    queryFn: () => readTrouble(api, range),
    refetchInterval: 5000,
  });
  return (
    <Section title="Endpoints in trouble">
      <QueryView query={troubled} label="Looking at the endpoints" rows={3}>
        {(rows) =>
          rows.length === 0 ? (
            <p className="text-muted">Every endpoint takes its deliveries.</p>
          ) : (
            <Table rows={rows} time={time} />
          )
        }
      </QueryView>
    </Section>
  );
}

async function readTrouble(api: Posthorn, range: TimeRange): Promise<Trouble[]> {
  const { content } = await api.endpoints.list({ perPage: 100 }).page();
  if (content.length === 0) return [];
  const rates = await api.endpoints.getPeriodFailureRates({
    ...range,
    endpointId: content.map(({ uid }) => uid),
  });
  const byId = new Map(rates.map((one) => [one.uid, one]));
  return content
    .map((endpoint): Trouble => {
      const {
        failure_count: failed = 0,
        retry_count: retrying = 0,
        period_failure_rate: rate = null,
      } = byId.get(endpoint.uid) ?? {};
      return { endpoint, failed, retrying, rate };
    })
    .filter(
      ({ endpoint, failed, retrying }) =>
        failed + retrying > 0 || endpoint.status !== 'active' || endpoint.cb_state === 'open',
    )
    .toSorted((one, other) => other.failed + other.retrying - one.failed - one.retrying)
    .slice(0, 10);
}

function Table({ rows, time }: { rows: Trouble[]; time: string }) {
  const { at } = useProject();
  const deliveries = (endpoint: Endpoint, state: string): string =>
    withSearch(at('deliveries'), { endpoint: endpoint.uid, state, time });
  const columns: TableColumn<Trouble>[] = [
    {
      name: 'Endpoint',
      cell: ({ endpoint }) => (
        <Link className="link" href={at(`endpoints/${endpoint.uid}`)}>
          {endpoint.name}
        </Link>
      ),
    },
    { name: 'State', cell: ({ endpoint }) => <EndpointBadge endpoint={endpoint} /> },
    {
      name: 'Failed',
      cell: ({ endpoint, failed }) => (
        <Link className="link" href={deliveries(endpoint, 'Failure')}>
          {count(failed)} failed
        </Link>
      ),
    },
    {
      name: 'Waiting to retry',
      cell: ({ endpoint, retrying }) => (
        <Link className="link" href={deliveries(endpoint, 'Retry')}>
          {count(retrying)} waiting
        </Link>
      ),
    },
    { name: 'Share that failed', cell: ({ rate }) => percent(rate) },
  ];
  return (
    <PlainTable
      label="Endpoints in trouble"
      rows={rows}
      columns={columns}
      rowKey={({ endpoint }) => endpoint.uid}
    />
  );
}
