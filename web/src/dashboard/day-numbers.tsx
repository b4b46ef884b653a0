import { useQuery } from '@tanstack/react-query';
import type { GetTimeSeriesResult } from 'posthorn-client';
import { useContext } from 'react';
import { useProject } from '../data/project.ts';
import { QueryView } from '../parts/query-view.tsx';
import { formatMs } from '../ui/charts/timing-bar.tsx';
import { Section } from '../ui/page/section.tsx';
import { Link, useGo, withSearch } from '../ui/text/link.tsx';
import { count } from '../ui/text/numbers.ts';
import { TimeStyleContext } from '../ui/text/time.tsx';
import { DeliveryChart } from './delivery-chart.tsx';
import { rangeOf } from './lists/time-filter.tsx';

const TIME = '24h';

interface Props {
  of: { endpointId: string[] } | { sourceId: string[] };
  /** The noun of `accepted`: events, or deliveries made for an endpoint. */
  accepted: string;
  /** The list with the rows behind the numbers, and the filter that leaves only these. */
  list: 'events' | 'deliveries';
  filter: Record<string, string>;
}

/** How the last day of an endpoint or source was. Marking a part of the chart leads to its rows. */
export function DayNumbers({ of, accepted, list, filter }: Props) {
  const { api, id, at } = useProject();
  const go = useGo();
  const range = rangeOf(TIME, useContext(TimeStyleContext).utc);
  const series = useQuery({
    queryKey: [id, 'day', of],
    queryFn: () => api.dashboard.getTimeSeries({ ...range, step: 'hour', ...of }),
    refetchInterval: 10_000,
  });
  const rows = (time: string) => withSearch(at(list), { ...filter, time });
  return (
    <Section
      title="Last 24 h"
      aside={
        <Link className="link" href={rows(TIME)}>
          Show the {list}
        </Link>
      }
    >
      <QueryView query={series} label="Reading the time series" rows={4}>
        {(data) => (
          <>
            <Figures totals={data.totals} accepted={accepted} />
            <DeliveryChart data={data} onZoom={(time) => go(rows(time))} />
          </>
        )}
      </QueryView>
    </Section>
  );
}

function Figures({ totals, accepted }: { totals: GetTimeSeriesResult['totals']; accepted: string }) {
  const { latency } = totals;
  const within = (ms: number | undefined, name: string): [string, string] =>
    ms === undefined ? ['–', 'nothing delivered'] : [formatMs(ms), `${name} with retries`];
  const figures: [name: string, value: string, note: string][] = [
    ['Accepted', count(totals.accepted), accepted],
    ['Delivered', count(totals.delivered), 'deliveries'],
    ['Failed', count(totals.failed), 'deliveries'],
    ['Half arrive within', ...within(latency?.p50, 'p50')],
    ['99 % within', ...within(latency?.p99, 'p99')],
  ];
  return (
    <div className="@container">
      <dl className="grid grid-cols-2 border-t border-l border-line @lg:grid-cols-5">
        {figures.map(([name, value, note]) => (
          <div key={name} className="min-w-0 border-r border-b border-line px-3 py-2">
            <dt className="truncate text-muted">{name}</dt>
            <dd>
              <span className="block text-base font-semibold">{value}</span>
              <span className="block truncate text-xs text-muted">{note}</span>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
