import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';
import { placeOf } from '../address.ts';
import { Back } from '../back.tsx';
import { HealthBadge } from '../badges.tsx';
import { DeliveryLines } from '../deliveries/delivery-lines.tsx';
import { useRights } from '../link.ts';
import { QueryView } from '../query-view.tsx';
import { api } from '../session.ts';
import { useAct } from '../use-act.ts';
import { useWords } from '../words.ts';
import { DeleteEndpoint, EditEndpoint } from './endpoint-dialogs.tsx';
import { EndpointTest } from './endpoint-test.tsx';
import { EndpointTypes } from './endpoint-types.tsx';
import { dayQuery, endpointQuery } from './queries.ts';
import { Secrets } from './secrets.tsx';
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
  const { manage: mayManage } = useRights();
  const day = useQuery(dayQuery([endpoint]));
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="min-w-0 text-lg break-words">{endpoint.name}</h2>
        <HealthBadge endpoint={endpoint} counts={day.data?.get(endpoint.uid)} />
        <span className="grow" />
        {mayManage && <Acts endpoint={endpoint} />}
      </div>
      <p className="mt-1 break-all text-muted">{endpoint.url}</p>
      <Trouble endpoint={endpoint} />
      <EndpointTypes endpoint={endpoint} />
      {endpoint.secrets.length > 0 && <Secrets endpoint={endpoint} />}
      <EndpointTest endpoint={endpoint} />
      <Recent endpoint={endpoint} />
    </>
  );
}

function Acts({ endpoint }: { endpoint: Endpoint }) {
  const { endpoints: t, deliveries } = useWords();
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const close = () => setOpen(undefined);
  const isActive = endpoint.status === 'active';
  const pause = useAct(
    () => api.endpoints.pause(endpoint.uid),
    ({ status }) => (status === 'active' ? t.nowActive : t.nowPaused),
    async ({ status }) => {
      const now = await api.endpoints.get(endpoint.uid);
      return now.status === status && api.endpoints.pause(endpoint.uid);
    },
  );
  return (
    <div className="flex flex-wrap gap-2">
      {endpoint.status !== 'inactive' && (
        <Button
          icon={isActive ? 'pause' : 'play'}
          onClick={() => pause.mutate()}
          busy={pause.isPending && deliveries.asking}
        >
          {isActive ? t.pause : t.resume}
        </Button>
      )}
      <Button onClick={() => setOpen('edit')}>{t.edit}</Button>
      <Button look="danger" onClick={() => setOpen('delete')}>
        {t.delete}
      </Button>
      {open === 'edit' && <EditEndpoint endpoint={endpoint} onClose={close} />}
      {open === 'delete' && <DeleteEndpoint endpoint={endpoint} onClose={close} />}
    </div>
  );
}

function Recent({ endpoint }: { endpoint: Endpoint }) {
  const { endpoints: t } = useWords();
  const recent = useQuery({
    queryKey: ['deliveries', 'recent', endpoint.uid],
    queryFn: () => api.eventDeliveries.list({ endpointId: [endpoint.uid], perPage: 8 }).page(),
    refetchInterval: 5000,
  });
  return (
    <Section
      title={t.lastDeliveries}
      aside={
        <a className="link" href={placeOf('deliveries', '', { endpoint: endpoint.uid })}>
          {t.all}
        </a>
      }
    >
      <QueryView query={recent}>
        {({ content }) =>
          content.length === 0 ? (
            <p className="text-muted">{t.noDeliveries}</p>
          ) : (
            <DeliveryLines deliveries={content} plain />
          )
        }
      </QueryView>
    </Section>
  );
}
