import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { EventDelivery, ListEventDeliveriesQuery } from 'posthorn-client';
import { useAct } from '../../parts/acts.tsx';
import { DeliveryLines } from '../../parts/delivery-lines.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { useWords } from '../../parts/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { FilterBar, FilterSelect, FilterText } from '../../ui/controls/filter-controls.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import { useGo, withSearch } from '../../ui/text/link.tsx';
import { at } from '../address.ts';
import { endpointsQuery } from '../endpoints/queries.ts';
import { useRights } from '../link.ts';
import { RetryProgress } from '../retry-progress.tsx';
import { api } from '../session.ts';

const PER_PAGE = 50;
const EVERY_MS = 10_000;
type Status = NonNullable<ListEventDeliveriesQuery['status']>[number];

const wanted = (filters: URLSearchParams): ListEventDeliveriesQuery => {
  const [state, endpoint, type] = ['state', 'endpoint', 'type'].map((name) => filters.get(name) ?? '');
  return {
    ...(state ? { status: [state as Status] } : {}),
    ...(endpoint ? { endpointId: [endpoint] } : {}),
    ...(type ? { eventType: type } : {}),
  };
};

export function Deliveries({ filters }: { filters: URLSearchParams }) {
  const words = useWords();
  const { deliveries: t } = words;
  const { retry: mayRetry } = useRights();
  const query = wanted(filters);
  const list = useInfiniteQuery({
    queryKey: ['deliveries', query],
    initialPageParam: '',
    queryFn: ({ pageParam }) =>
      api.eventDeliveries
        .list({ ...query, perPage: PER_PAGE, ...(pageParam === '' ? {} : { next_page_cursor: pageParam }) })
        .page(),
    getNextPageParam: ({ pagination }) =>
      pagination.has_next_page ? pagination.next_page_cursor : undefined,
    refetchInterval: EVERY_MS,
  });
  const isFiltered = Object.keys(query).length > 0;
  return (
    <>
      <Filters filters={filters} />
      {mayRetry && filters.get('state') === 'Failure' && <RetryAll query={query} />}
      <QueryView query={list} rows={8}>
        {({ pages }) => {
          const rows: EventDelivery[] = pages.flatMap(({ content }) => content);
          return rows.length === 0 ? (
            <EmptyState title={t.none} text={isFiltered ? t.noneMatch : t.noneText} />
          ) : (
            <>
              <DeliveryLines deliveries={rows} none={t.none} showEndpoint />
              {list.hasNextPage && (
                <Button
                  className="mt-3"
                  onClick={() => void list.fetchNextPage()}
                  busy={list.isFetchingNextPage && words.loading}
                >
                  {t.more}
                </Button>
              )}
            </>
          );
        }}
      </QueryView>
    </>
  );
}

function Filters({ filters }: { filters: URLSearchParams }) {
  const { deliveries: t, states } = useWords();
  const go = useGo();
  const endpoints = useQuery(endpointsQuery);
  const value = (name: string) => filters.get(name) ?? '';
  const change = (name: string) => (text: string) =>
    go(withSearch(at('deliveries'), { ...Object.fromEntries(filters), [name]: text }));
  return (
    <FilterBar>
      <FilterSelect
        label={t.state}
        value={value('state')}
        onChange={change('state')}
        choices={[
          ['', t.allStates],
          ['Success', states.delivered],
          ['Failure', states.failed],
          ['Retry', states.retrying],
          ['Scheduled', states.scheduled],
          ['Discarded', states.discarded],
        ]}
      />
      <FilterSelect
        label={t.endpoint}
        value={value('endpoint')}
        onChange={change('endpoint')}
        choices={[
          ['', t.allEndpoints],
          ...(endpoints.data ?? []).map(({ uid, name }) => [uid, name] as const),
        ]}
      />
      <FilterText label={t.type} value={value('type')} onChange={change('type')} />
    </FilterBar>
  );
}

/** Sends all that match again, counted before. */
function RetryAll({ query }: { query: ListEventDeliveriesQuery }) {
  const { deliveries: t } = useWords();
  const count = useQuery({
    queryKey: ['retryable', query],
    queryFn: () => api.eventDeliveries.countBatchRetry(query),
  });
  const number = count.data?.num ?? 0;
  const retry = useAct(
    () => api.eventDeliveries.batchRetry(query),
    () => t.retryingAll(number),
  );
  return (
    <>
      {number > 0 && (
        <Button
          className="mb-2"
          icon="again"
          onClick={() => retry.mutate()}
          busy={retry.isPending && t.asking}
        >
          {t.retryAll(number)}
        </Button>
      )}
      <RetryProgress job={retry.data} />
    </>
  );
}
