import type { Endpoint } from 'posthorn-client';
import { type ComponentType, useState } from 'react';
import { Button } from '../ui/controls/button.tsx';
import { DangerDialog } from './act-dialog.tsx';
import { ActButton } from './acts.tsx';
import type { EndpointDialog } from './forms/edit-endpoint.tsx';
import { useSite } from './site.ts';
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
      {endpoint.status === 'pending' && (
        <ActButton look="main" act={() => api.endpoints.verify(endpoint.uid)} done={() => t.verified}>
          {t.verify}
        </ActButton>
      )}
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

interface PauseProps {
  endpoint: Pick<Endpoint, 'uid' | 'status'>;
  /** The name of the endpoint, for a button in the row of a list. */
  inRow?: string;
}

/** Pauses an endpoint, or lets it go on. One that is disabled is activated elsewhere. */
export function PauseButton({ endpoint, inRow }: PauseProps) {
  const { endpoints: t } = useWords();
  const { endpoints } = useSite().api;
  const isActive = endpoint.status === 'active';
  if (endpoint.status === 'inactive' || endpoint.status === 'pending') return null;
  const word = isActive ? t.pause : t.resume;
  const inList = { look: 'quiet', className: 'relative z-10 h-7', 'aria-label': `${word} ${inRow}` } as const;
  return (
    <ActButton
      {...(inRow === undefined ? { look: isActive ? 'plain' : 'main' } : inList)}
      icon={isActive ? 'pause' : 'play'}
      act={() => endpoints.pause(endpoint.uid)}
      done={({ status }) => (status === 'active' ? t.nowActive : t.nowPaused)}
      undo={async ({ status }) => {
        const now = await endpoints.get(endpoint.uid);
        return now.status === status && endpoints.pause(endpoint.uid);
      }}
    >
      {word}
    </ActButton>
  );
}
