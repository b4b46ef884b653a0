import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { DayNumbers } from '../../parts/day-numbers.tsx';
import { BackToList, useOpenId } from '../../parts/lists/list-layout.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { EndpointBadge } from '../../parts/states.tsx';
import { useAct } from '../../parts/use-act.ts';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { DisabledBanner } from './disabled-banner.tsx';
import { DeleteEndpoint, EditEndpoint, RollSecret } from './endpoint-dialogs.tsx';
import { EndpointFacts } from './endpoint-facts.tsx';
import { EndpointTest } from './endpoint-test.tsx';
import { Pulling } from './pulling.tsx';
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
  const [open, setOpen] = useState<Open>();
  const may = useMay();
  const close = () => setOpen(undefined);
  const isDisabled = endpoint.status === 'inactive';
  const isPull = endpoint.delivery === 'pull';
  return (
    <>
      <PageHead title={endpoint.name} beside={<EndpointBadge endpoint={endpoint} />}>
        {may('updateEndpoint') && (
          <>
            {!isDisabled && <PauseButton endpoint={endpoint} />}
            <Button onClick={() => setOpen('edit')}>Edit…</Button>
            <Button onClick={() => setOpen('roll')}>Roll secret…</Button>
            <Button look="danger" onClick={() => setOpen('delete')}>
              Delete…
            </Button>
          </>
        )}
      </PageHead>
      {isPull ? (
        <p className="mb-3">Nothing is sent to it. A consumer fetches its deliveries.</p>
      ) : (
        <p className="mb-3 break-all">{endpoint.url}</p>
      )}
      {endpoint.description !== '' && <p className="mb-3 max-w-prose text-muted">{endpoint.description}</p>}
      {isDisabled && <DisabledBanner endpoint={endpoint} />}
      <EndpointFacts endpoint={endpoint} />
      {isPull && <Pulling endpoint={endpoint} />}
      {!isPull && may('tryEndpoint') && <EndpointTest endpoint={endpoint} />}
      <DayNumbers
        of={{ endpointId: [endpoint.uid] }}
        accepted="deliveries made"
        list="deliveries"
        filter={{ endpoint: endpoint.uid }}
      />
      <RecentDeliveries endpoint={endpoint.uid} />
      {may('expireSecret') && <Secrets endpoint={endpoint} />}
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
    async ({ status }) => {
      const now = await api.endpoints.get(endpoint.uid);
      return now.status === status && api.endpoints.pause(endpoint.uid);
    },
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
