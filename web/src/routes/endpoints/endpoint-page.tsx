import { useQuery } from '@tanstack/react-query';
import type { Endpoint, EndpointHealth } from 'posthorn-client';
import { DayNumbers } from '../../dashboard/day-numbers.tsx';
import { RowPage } from '../../dashboard/lists/row-page.tsx';
import { Trouble } from '../../dashboard/trouble.tsx';
import { hasExpired, isTroubled } from '../../data/endpoint-status.ts';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { EndpointBadge } from '../../parts/badges.tsx';
import { addressOf } from '../../parts/brokers/broker-address.ts';
import { RecentDeliveries } from '../../parts/delivery-lines.tsx';
import { EndpointActs } from '../../parts/endpoint-acts.tsx';
import { EndpointTest } from '../../parts/endpoint-test.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Secrets } from '../../parts/secrets.tsx';
import { SourceAddresses } from '../../parts/source-addresses.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { DisabledBanner, ExpiredBanner } from './disabled-banner.tsx';
import { EditEndpoint } from './edit-endpoint.tsx';
import { EndpointFacts } from './endpoint-facts.tsx';
import { EndpointRetries } from './endpoint-retries.tsx';
import { Pulling } from './pulling.tsx';

export const EndpointPage = () => (
  <RowPage
    list="endpoints"
    title="Endpoints"
    noun="endpoint"
    load={({ endpoints }, id) => endpoints.get(id)}
    everyMs={() => 5000}
  >
    {(endpoint) => <EndpointView endpoint={endpoint} />}
  </RowPage>
);

function EndpointView({ endpoint }: { endpoint: Endpoint }) {
  const may = useMay();
  const health = useHealth(endpoint.uid);
  const Banner = hasExpired(endpoint) ? ExpiredBanner : DisabledBanner;
  const isDisabled = endpoint.status === 'inactive';
  const isPull = endpoint.delivery === 'pull';
  return (
    <>
      <PageHead title={endpoint.name} beside={<EndpointBadge of={{ ...endpoint, ...health }} />}>
        {may('updateEndpoint') && <EndpointActs endpoint={endpoint} form={EditEndpoint} />}
      </PageHead>
      {isPull ? (
        <p className="mb-3">Nothing is sent to it. A consumer fetches its deliveries.</p>
      ) : (
        <p className="mb-3 break-all">{addressOf(endpoint)}</p>
      )}
      {endpoint.description !== '' && <p className="mb-3 max-w-prose text-muted">{endpoint.description}</p>}
      {isDisabled && <Banner endpoint={endpoint} />}
      {!isDisabled && health !== undefined && isTroubled(health) && (
        <section aria-label="What is wrong" className="mb-3">
          <Trouble health={health} time="last 24 h" />
        </section>
      )}
      <EndpointFacts endpoint={endpoint} />
      {isPull && <Pulling endpoint={endpoint} />}
      {!isPull && <SourceAddresses />}
      {!isPull && may('tryEndpoint') && <EndpointTest endpoint={endpoint} mayChoose />}
      <DayNumbers
        of={{ endpointId: [endpoint.uid] }}
        accepted="deliveries made"
        list="deliveries"
        filter={{ endpoint: endpoint.uid }}
      />
      <RecentDeliveries endpoint={endpoint.uid}>
        <PageLink to="deliveries" filters={{ endpoint: endpoint.uid, state: 'Failure', time: '2h' }}>
          Failures of the last 2 h
        </PageLink>
      </RecentDeliveries>
      <EndpointRetries endpoint={endpoint.uid} />
      {may('expireSecret') && <Secrets endpoint={endpoint} mayRoll />}
    </>
  );
}

const DAY_MS = 86_400_000;

function useHealth(endpoint: string): EndpointHealth | undefined {
  const { api, id } = useProject();
  const { data } = useQuery({
    queryKey: [id, 'endpoint', endpoint, 'health'],
    queryFn: () =>
      api.dashboard.getHealth({
        startDate: new Date(Date.now() - DAY_MS).toISOString(),
        endpointId: [endpoint],
      }),
    refetchInterval: 5000,
  });
  return data?.endpoints[0];
}
