import { useQuery } from '@tanstack/react-query';
import { useContext, useState } from 'react';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { inTime, rangeOf, TimeFilter } from '../../dashboard/lists/time-filter.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { customerOf } from '../../data/delivery-state.ts';
import { useMay } from '../../data/may.ts';
import { useMe, useProject } from '../../data/project.ts';
import { useFilters } from '../../data/search.ts';
import { DeliveryLines } from '../../parts/delivery-lines.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { TimeStyleContext } from '../../ui/text/time.tsx';
import { FirstEvent } from './first-event.tsx';
import { NodeLine } from './node-line.tsx';
import { OpenCounts } from './open-counts.tsx';
import { Rates } from './rates.tsx';
import { Troubled } from './troubled.tsx';

const DEFAULT = '2h';

/** The present problems on one screen. Each number leads to the rows behind it. */
export function Overview() {
  const { api, id, name } = useProject();
  const { instance_admin: isAdmin } = useMe();
  const [search, setSearch] = useFilters();
  const time = search['time'] ?? DEFAULT;
  const { startDate, endDate } = rangeOf(time, useContext(TimeStyleContext).utc);
  const range = { startDate: startDate ?? '', ...(endDate === undefined ? {} : { endDate }) };
  const failing = useQuery({
    queryKey: [id, 'overview', 'failing', time],
    queryFn: () => api.eventDeliveries.list({ ...range, status: ['Failure', 'Retry'], perPage: 6 }).page(),
    refetchInterval: 5000,
  });
  return (
    <PageBody>
      <PageHead title={name}>
        <TimeFilter value={time} onChange={(chosen) => setSearch({ time: chosen })} />
      </PageHead>
      <Newcomer />
      <Troubled time={time} range={range} />
      <Section title="Traffic">
        <Rates time={time} range={range} onZoom={(zoomed) => setSearch({ time: zoomed })} />
        <OpenCounts />
      </Section>
      <Section
        title="Latest failures"
        aside={
          <PageLink to="deliveries" filters={{ state: 'Failure,Retry', time }}>
            All
          </PageLink>
        }
      >
        <QueryView query={failing} label="Loading failures" rows={4}>
          {({ content }) => (
            <DeliveryLines
              deliveries={content}
              none={`No delivery failed ${inTime(time)}.`}
              showEndpoint
              note={(delivery) => <CustomerNote owner={customerOf(delivery)} />}
            />
          )}
        </QueryView>
      </Section>
      {isAdmin && <NodeLine />}
    </PageBody>
  );
}

const CustomerNote = ({ owner }: { owner: string }) =>
  owner !== '' && (
    <>
      <CustomerLink owner={owner} /> ·{' '}
    </>
  );

/** It stays until the page is left, so that the reader sees the event arrive. */
function Newcomer() {
  const { api, id } = useProject();
  const may = useMay();
  const [wasEmpty, setWasEmpty] = useState(false);
  const events = useQuery({
    queryKey: [id, 'any event'],
    queryFn: () => api.events.list({ perPage: 1 }).page(),
    staleTime: 60_000,
  });
  const isEmpty = events.data?.content.length === 0;
  if (isEmpty && !wasEmpty) setWasEmpty(true);
  if (!isEmpty && !wasEmpty) return null;
  return may('broadcastEvent') ? (
    <FirstEvent />
  ) : (
    <EmptyState title="Nothing has come in yet" text="What comes in and where it goes is shown here." />
  );
}
