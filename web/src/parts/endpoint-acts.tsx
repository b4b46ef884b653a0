import type { Endpoint } from 'posthorn-client';
import { type ComponentType, useState } from 'react';
import { Button } from '../ui/controls/button.tsx';
import { DangerDialog } from './act-dialog.tsx';
import type { EndpointDialog } from './edit-endpoint.tsx';
import { useSite } from './site.ts';
import { useAct } from './use-act.ts';
import { useWords } from './words.ts';

interface Acts {
  endpoint: Endpoint;
  form: ComponentType<EndpointDialog>;
}

/** Pause, edit and delete. The form is that of the page. */
export function EndpointActs({ endpoint, form: Form }: Acts) {
  const { endpoints: t } = useWords();
  const { api, at } = useSite();
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const close = () => setOpen(undefined);
  return (
    <>
      <PauseButton endpoint={endpoint} />
      <Button onClick={() => setOpen('edit')}>{t.edit}</Button>
      <Button look="danger" onClick={() => setOpen('delete')}>
        {t.delete}
      </Button>
      {open === 'edit' && <Form endpoint={endpoint} onClose={close} />}
      {open === 'delete' && (
        <DangerDialog
          what={t.deleteTitle(endpoint.name)}
          act={() => api.endpoints.delete(endpoint.uid)}
          leadsTo={at('endpoints')}
          onClose={close}
        >
          {t.deleteText}
        </DangerDialog>
      )}
    </>
  );
}

/** Pauses an endpoint, or lets it go on. One that is disabled is activated elsewhere. */
export function PauseButton({ endpoint }: { endpoint: Pick<Endpoint, 'uid' | 'status'> }) {
  const { endpoints: t, deliveries } = useWords();
  const { endpoints } = useSite().api;
  const isActive = endpoint.status === 'active';
  const pause = useAct(
    () => endpoints.pause(endpoint.uid),
    ({ status }) => (status === 'active' ? t.nowActive : t.nowPaused),
    async ({ status }) => {
      const now = await endpoints.get(endpoint.uid);
      return now.status === status && endpoints.pause(endpoint.uid);
    },
  );
  if (endpoint.status === 'inactive') return null;
  return (
    <Button
      look={isActive ? 'plain' : 'main'}
      icon={isActive ? 'pause' : 'play'}
      onClick={() => pause.mutate()}
      busy={pause.isPending && deliveries.asking}
    >
      {isActive ? t.pause : t.resume}
    </Button>
  );
}
