import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { EndpointBadge } from '../../parts/badges.tsx';
import { EndpointTest } from '../../parts/endpoint-test.tsx';
import { PauseButton } from '../../parts/pause-button.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { RecentDeliveries } from '../../parts/recent-deliveries.tsx';
import { Secrets } from '../../parts/secrets.tsx';
import { useWords } from '../../parts/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { Back } from '../back.tsx';
import { useRights } from '../link.ts';
import { DeleteEndpoint, EditEndpoint } from './endpoint-dialogs.tsx';
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
        {mayManage && <Acts endpoint={endpoint} />}
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

function Acts({ endpoint }: { endpoint: Endpoint }) {
  const { endpoints: t } = useWords();
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const close = () => setOpen(undefined);
  return (
    <>
      <PauseButton endpoint={endpoint} />
      <Button onClick={() => setOpen('edit')}>{t.edit}</Button>
      <Button look="danger" onClick={() => setOpen('delete')}>
        {t.delete}
      </Button>
      {open === 'edit' && <EditEndpoint endpoint={endpoint} onClose={close} />}
      {open === 'delete' && <DeleteEndpoint endpoint={endpoint} onClose={close} />}
    </>
  );
}
