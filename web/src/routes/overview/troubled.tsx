import { useQuery } from '@tanstack/react-query';
import type { Endpoint, Posthorn } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { EndpointBadge } from '../../parts/states.tsx';
import { Section } from '../../ui/page/section.tsx';
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
  return (
    <div className="overflow-x-auto">
      <table className="w-full text-left">
        <thead className="bg-panel text-xs text-muted">
          <tr className="border-y border-line">
            {['Endpoint', 'State', 'Failed', 'Waiting to retry', 'Of its deliveries'].map((name) => (
              <th key={name} scope="col" className="h-8 px-2 font-normal">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ endpoint, failed, retrying, rate }) => (
            <tr key={endpoint.uid} className="h-8 border-b border-line hover:bg-hover">
              <td className="max-w-64 truncate px-2">
                <Link className="link" href={at(`endpoints/${endpoint.uid}`)}>
                  {endpoint.name}
                </Link>
              </td>
              <td className="px-2">
                <EndpointBadge endpoint={endpoint} />
              </td>
              <td className="px-2">
                <Link
                  className="link"
                  href={withSearch(at('deliveries'), { endpoint: endpoint.uid, state: 'Failure', time })}
                >
                  {count(failed)} failed
                </Link>
              </td>
              <td className="px-2">
                <Link
                  className="link"
                  href={withSearch(at('deliveries'), { endpoint: endpoint.uid, state: 'Retry', time })}
                >
                  {count(retrying)} waiting
                </Link>
              </td>
              <td className="px-2">{percent(rate)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
