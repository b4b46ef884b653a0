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
      {endpoint.status === 'pending' && <VerifyButton endpoint={endpoint} />}
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

/** Sends the challenge again. */
function VerifyButton({ endpoint }: Pick<Acts, 'endpoint'>) {
  const { endpoints: t, deliveries } = useWords();
  const { api } = useSite();
  const verify = useAct(
    () => api.endpoints.verify(endpoint.uid),
    () => t.verified,
  );
  return (
    <Button look="main" onClick={() => verify.mutate()} busy={verify.isPending && deliveries.asking}>
      {t.verify}
    </Button>
  );
}

interface PauseProps {
  endpoint: Pick<Endpoint, 'uid' | 'status'>;
  /** The name of the endpoint, for a button in the row of a list. */
  inRow?: string;
}

/** Pauses an endpoint, or lets it go on. One that is disabled is activated elsewhere. */
export function PauseButton({ endpoint, inRow }: PauseProps) {
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
  if (endpoint.status === 'inactive' || endpoint.status === 'pending') return null;
  const word = isActive ? t.pause : t.resume;
  const act = {
    icon: isActive ? ('pause' as const) : ('play' as const),
    onClick: () => pause.mutate(),
    busy: pause.isPending && deliveries.asking,
  };
  if (inRow !== undefined)
    return (
      <Button {...act} look="quiet" className="relative z-10 h-7" aria-label={`${word} ${inRow}`}>
        {word}
      </Button>
    );
  return (
    <Button {...act} look={isActive ? 'plain' : 'main'}>
      {word}
    </Button>
  );
}
