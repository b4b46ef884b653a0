import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { hasExpired } from '../../data/endpoint-status.ts';
import { EndpointBadge } from '../../parts/badges.tsx';
import { addressOf } from '../../parts/brokers/broker-address.ts';
import { RecentDeliveries } from '../../parts/delivery-lines.tsx';
import { EndpointActs } from '../../parts/endpoint-acts.tsx';
import { EndpointTest } from '../../parts/endpoint-test.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Secrets } from '../../parts/secrets.tsx';
import { SourceAddresses } from '../../parts/source-addresses.tsx';
import { useWords } from '../../parts/words.ts';
import { PageHead } from '../../ui/page/section.tsx';
import { Time } from '../../ui/text/time.tsx';
import { Back } from '../back.tsx';
import { useRights } from '../link.ts';
import { Counts } from './counts.tsx';
import { EditEndpoint } from './edit-endpoint.tsx';
import { EndpointTypes } from './endpoint-types.tsx';
import { type Health, type Healths, isTrouble, useHealth } from './health.ts';
import { endpointQuery } from './queries.ts';
import { Trouble } from './trouble.tsx';

export function EndpointPage({ id }: { id: string }) {
  const { pages } = useWords();
  const endpoint = useQuery(endpointQuery(id));
  return (
    <>
      <Back page="endpoints" label={pages.endpoints} />
      <QueryView query={endpoint} rows={8}>
        {(data) => <EndpointView endpoint={data} />}
      </QueryView>
    </>
  );
}

function EndpointView({ endpoint }: { endpoint: Endpoint }) {
  const { manage: mayManage, retry: mayRetry } = useRights();
  const { endpoints: t } = useWords();
  const { data: all } = useHealth();
  const health = all?.of.get(endpoint.uid);
  const mayTest = mayRetry && endpoint.status === 'active' && endpoint.delivery !== 'pull';
  return (
    <>
      <PageHead heading="h2" title={endpoint.name} beside={<EndpointBadge of={{ ...endpoint, ...health }} />}>
        {mayManage && <EndpointActs endpoint={endpoint} form={EditEndpoint} />}
      </PageHead>
      <p className="break-all text-muted">{addressOf(endpoint)}</p>
      {endpoint.expires_at !== null && !hasExpired(endpoint) && (
        <p>
          {t.willExpire} <Time at={endpoint.expires_at} />
        </p>
      )}
      {all !== undefined && health !== undefined && <HealthView {...{ endpoint, health, all }} />}
      <EndpointTypes endpoint={endpoint} />
      {endpoint.secrets.length > 0 && <Secrets endpoint={endpoint} mayRoll={mayManage} />}
      {endpoint.delivery !== 'pull' && <SourceAddresses />}
      {mayTest && <EndpointTest endpoint={endpoint} mayChoose={mayManage} />}
      <RecentDeliveries endpoint={endpoint.uid} />
    </>
  );
}

/** The trouble of the endpoint. If there is none, the numbers of the last day. */
function HealthView({ endpoint, health, all }: { endpoint: Endpoint; health: Health; all: Healths }) {
  if (isTrouble(health)) return <Trouble {...{ endpoint, health, all }} />;
  return (
    <div className="mt-2">
      <Counts health={health} isComplete={all.isComplete} />
    </div>
  );
}
