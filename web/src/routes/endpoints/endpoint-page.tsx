import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { useProject } from '../../data/project.ts';
import { BackToList, useOpenId } from '../../parts/list-layout.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { EndpointBadge } from '../../parts/states.tsx';
import { useAct } from '../../parts/use-act.ts';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';
import { percent } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';
import { DisabledBanner } from './disabled-banner.tsx';
import { DeleteEndpoint, EditEndpoint, RollSecret } from './endpoint-dialogs.tsx';
import { EndpointTest } from './endpoint-test.tsx';
import { RecentDeliveries } from './recent-deliveries.tsx';
import { Secrets } from './secrets.tsx';

export function EndpointPage() {
  const { api, id: project, at } = useProject();
  const id = useOpenId() ?? '';
  const endpoint = useQuery({
    queryKey: [project, 'endpoint', id],
    queryFn: () => api.endpoints.get(id),
    refetchInterval: 5000,
  });
  return (
    <>
      <BackToList href={at('endpoints')} label="Endpoints" />
      <QueryView query={endpoint} label="Loading the endpoint" rows={10}>
        {(data) => <EndpointView endpoint={data} />}
      </QueryView>
    </>
  );
}

type Open = 'edit' | 'roll' | 'delete' | undefined;

function EndpointView({ endpoint }: { endpoint: Endpoint }) {
  const { at } = useProject();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const isDisabled = endpoint.status === 'inactive';
  const { rate_limit: limit, rate_limit_duration: seconds } = endpoint;
  return (
    <>
      <PageHead title={endpoint.name} beside={<EndpointBadge endpoint={endpoint} />}>
        {!isDisabled && <PauseButton endpoint={endpoint} />}
        <Button onClick={() => setOpen('edit')}>Edit…</Button>
        <Button onClick={() => setOpen('roll')}>Roll secret…</Button>
        <Button look="danger" onClick={() => setOpen('delete')}>
          Delete…
        </Button>
      </PageHead>
      <p className="mb-3 break-all">{endpoint.url}</p>
      {isDisabled && <DisabledBanner endpoint={endpoint} />}
      <Facts
        items={[
          [
            'Customer',
            endpoint.owner_id === '' ? (
              ''
            ) : (
              <Link key="" className="link" href={at(`customers/${encodeURIComponent(endpoint.owner_id)}`)}>
                {endpoint.owner_id}
              </Link>
            ),
          ],
          ['Failed, 30 d', `${percent(endpoint.failure_rate)} of attempts`],
          ['Circuit breaker', endpoint.cb_state || 'closed'],
          ['Rate limit', limit === 0 ? 'none' : `${limit} deliveries in ${seconds} s`],
          ['Time limit', endpoint.http_timeout === 0 ? 'default' : `${endpoint.http_timeout} s`],
          ['Sign-in', endpoint.authentication?.type || 'none'],
          ['Client certificate', endpoint.mtls_client_cert === undefined ? 'none' : 'yes'],
          ['Mail on trouble', endpoint.support_email || 'none'],
          [
            'Subscriptions',
            <Link key="" className="link" href={withSearch(at('subscriptions'), { endpoint: endpoint.uid })}>
              Show
            </Link>,
          ],
          ['Created', <Time key="" at={endpoint.created_at} />],
          ['Id', <Id key="" value={endpoint.uid} what="endpoint id" />],
        ]}
      />
      <EndpointTest endpoint={endpoint} />
      <RecentDeliveries endpoint={endpoint.uid} />
      <Secrets endpoint={endpoint} />
      {open === 'edit' && <EditEndpoint endpoint={endpoint} onClose={close} />}
      {open === 'roll' && <RollSecret endpoint={endpoint} onClose={close} />}
      {open === 'delete' && <DeleteEndpoint endpoint={endpoint} onClose={close} />}
    </>
  );
}

function PauseButton({ endpoint }: { endpoint: Endpoint }) {
  const { api } = useProject();
  const isActive = endpoint.status === 'active';
  const pause = useAct(
    () => api.endpoints.pause(endpoint.uid),
    ({ status }) => (status === 'active' ? 'Active: what waited is being sent' : 'Paused: deliveries wait'),
  );
  return (
    <Button
      look={isActive ? 'plain' : 'main'}
      icon={isActive ? 'pause' : 'play'}
      onClick={() => pause.mutate()}
      busy={pause.isPending && 'Asking'}
    >
      {isActive ? 'Pause' : 'Resume'}
    </Button>
  );
}
