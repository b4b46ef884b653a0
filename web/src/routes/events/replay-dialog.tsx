import { useQuery } from '@tanstack/react-query';
import type { ListEventsQuery } from 'posthorn-client';
import { useState } from 'react';
import { plural } from '../../data/delivery-state.ts';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { Dialog, FormDialog } from '../../ui/controls/dialog.tsx';
import { useGo } from '../../ui/text/link.tsx';

interface Props {
  filters: ListEventsQuery;
}

/** Replays what the filters of the list show, to the endpoint and the customer that they name. */
export function Replay({ filters }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button icon="again" onClick={() => setOpen(true)}>
        Replay…
      </Button>
      {open && <ReplayDialog filters={filters} onClose={() => setOpen(false)} />}
    </>
  );
}

/** A dry run counts the events, and matches them again. */
function ReplayDialog({ filters, onClose }: Props & { onClose(): void }) {
  const { api, id, at } = useProject();
  const go = useGo();
  const { endpointId, ownerId } = filters;
  const sentTo = {
    ...(endpointId !== undefined && { to_endpoint: [endpointId].flat() }),
    ...(ownerId !== undefined && { to_owner: ownerId }),
  };
  const isLimited = Object.keys(sentTo).length > 0;
  const count = useQuery({
    queryKey: [id, 'replay', filters],
    queryFn: async () => (await api.events.batchReplay({ ...filters, ...sentTo, dry_run: true })).dry_run,
    staleTime: 0,
  });
  const title = 'Replay events';
  if (count.data === undefined || count.data === null)
    return (
      <Dialog title={title} onClose={onClose}>
        <QueryView query={count} label="Counting events" rows={2}>
          {() => null}
        </QueryView>
      </Dialog>
    );
  const { total, deliveries, endpoints, is_estimate: isEstimate } = count.data;
  const what = plural(total, 'event');
  return (
    <FormDialog
      title={title}
      action={`Replay ${what}`}
      onClose={onClose}
      explain={errorText}
      onSubmit={async () => {
        const job = await api.events.batchReplay({ ...filters, ...sentTo });
        go(at(`jobs/${job.uid}`));
      }}
    >
      <p>
        The filters of the list choose <strong>{what}</strong>. Each is matched again under the current
        subscriptions and sent to every match{isLimited && ' that the filters name'}:{' '}
        {isEstimate ? 'about ' : ''}
        {plural(deliveries, 'new delivery', 'new deliveries')} to {isEstimate ? 'at least ' : ''}
        {plural(endpoints, 'endpoint')}. Duplicates are left out.
      </p>
    </FormDialog>
  );
}
