import { useQuery } from '@tanstack/react-query';
import { useContext } from 'react';
import { useProject } from '../../data/project.ts';
import { useFilters } from '../../data/search.ts';
import { DeliveryLines } from '../../parts/delivery-lines.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { rangeOf } from '../../parts/time-filter.tsx';
import { FilterSelect } from '../../ui/filter-controls.tsx';
import { Link, withSearch } from '../../ui/link.tsx';
import { PageHead, Section } from '../../ui/section.tsx';
import { TimeStyleContext } from '../../ui/time.tsx';
import { Figures } from './figures.tsx';
import { Troubled } from './troubled.tsx';

const WINDOWS = [
  ['15m', 'Last 15 min'],
  ['2h', 'Last 2 h'],
  ['24h', 'Last 24 h'],
  ['7d', 'Last 7 days'],
] as const;

/** What is wrong now, on one screen. Each number leads to the rows behind it. */
export function Overview() {
  const { api, id, at, name } = useProject();
  const [search, setSearch] = useFilters();
  const { utc } = useContext(TimeStyleContext);
  const time = search['time'] ?? '2h';
  const range = rangeOf(time, utc);
  const failing = useQuery({
    queryKey: [id, 'overview', 'failing', time],
    queryFn: () => api.eventDeliveries.list({ ...range, status: ['Failure', 'Retry'], perPage: 8 }).page(),
    refetchInterval: 5000,
  });
  return (
    <div className="h-full overflow-auto px-4 pt-3 pb-10">
      <PageHead title={name}>
        <FilterSelect
          label="Time"
          value={time}
          onChange={(chosen) => setSearch({ time: chosen })}
          choices={WINDOWS}
        />
      </PageHead>
      <Figures time={time} range={range} />
      <Troubled time={time} range={range} />
      <Section
        title="Latest failures"
        aside={
          <Link className="link" href={withSearch(at('deliveries'), { state: 'Failure,Retry', time })}>
            All
          </Link>
        }
      >
        <QueryView query={failing} label="Loading failures" rows={4}>
          {({ content }) => (
            <DeliveryLines deliveries={content} none="No delivery failed in this time." showEndpoint />
          )}
        </QueryView>
      </Section>
    </div>
  );
}
