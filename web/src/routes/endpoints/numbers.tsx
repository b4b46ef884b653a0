import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useContext } from 'react';
import { useProject } from '../../data/project.ts';
import { DeliveryChart } from '../../parts/delivery-chart.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { rangeOf } from '../../parts/time-filter.tsx';
import { formatMs } from '../../ui/charts/timing-bar.tsx';
import { Section } from '../../ui/page/section.tsx';
import { withSearch } from '../../ui/text/link.tsx';
import { TimeStyleContext } from '../../ui/text/time.tsx';

/** How the last day of the endpoint was. Marking a part of the chart leads to its deliveries. */
export function Numbers({ endpoint }: { endpoint: string }) {
  const { api, id, at } = useProject();
  const router = useRouter();
  const range = rangeOf('24h', useContext(TimeStyleContext).utc);
  const series = useQuery({
    queryKey: [id, 'endpoint', endpoint, 'series'],
    queryFn: () => api.dashboard.getTimeSeries({ ...range, step: 'hour', endpointId: [endpoint] }),
    refetchInterval: 10_000,
  });
  const latency = series.data?.totals.latency;
  return (
    <Section
      title="Last 24 h"
      aside={
        latency != null && (
          <span className="text-muted">
            Half arrive within {formatMs(latency.p50)}, 99 % within {formatMs(latency.p99)}
          </span>
        )
      }
    >
      <QueryView query={series} label="Reading the time series" rows={4}>
        {(data) => (
          <DeliveryChart
            data={data}
            onZoom={(time) => router.history.push(withSearch(at('deliveries'), { endpoint, time }))}
          />
        )}
      </QueryView>
    </Section>
  );
}
