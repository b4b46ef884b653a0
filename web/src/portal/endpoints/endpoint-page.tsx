import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { EndpointBadge } from '../../parts/badges.tsx';
import { EndpointActs } from '../../parts/endpoint-acts.tsx';
import { EndpointTest } from '../../parts/endpoint-test.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { RecentDeliveries } from '../../parts/recent-deliveries.tsx';
import { Secrets } from '../../parts/secrets.tsx';
import { useWords } from '../../parts/words.ts';
import { PageHead } from '../../ui/page/section.tsx';
import { Back } from '../back.tsx';
import { useRights } from '../link.ts';
import { EditEndpoint } from './edit-endpoint.tsx';
import { EndpointTypes } from './endpoint-types.tsx';
import { isFailing } from './failure.ts';
import { dayQuery, endpointQuery } from './queries.ts';
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
  const day = useQuery(dayQuery([endpoint]));
  const mayTest = mayRetry && endpoint.status === 'active' && endpoint.delivery === 'push';
  const fails = isFailing(endpoint, day.data?.get(endpoint.uid));
  return (
    <>
      <PageHead
        heading="h2"
        title={endpoint.name}
        beside={<EndpointBadge endpoint={endpoint} isFailing={fails} />}
      >
        {mayManage && <EndpointActs endpoint={endpoint} form={EditEndpoint} />}
      </PageHead>
      <p className="break-all text-muted">{endpoint.url}</p>
      <Trouble endpoint={endpoint} />
      <EndpointTypes endpoint={endpoint} />
      {endpoint.secrets.length > 0 && <Secrets endpoint={endpoint} mayRoll={mayManage} />}
      {mayTest && <EndpointTest endpoint={endpoint} mayChoose={mayManage} />}
      <RecentDeliveries endpoint={endpoint.uid} />
    </>
  );
}
