import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { plural } from '../../data/delivery-state.ts';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import type { DeliveryFilters } from './queries.ts';

interface Props {
  kind: 'retry' | 'cancel';
  filters: DeliveryFilters;
  onClose(): void;
}

/** Retries or cancels what the filters of the list show, as a job. The count is exact at this moment. */
export function BulkDialog({ kind, filters, onClose }: Props) {
  const { api, id } = useProject();
  const count = useQuery({
    queryKey: [id, 'bulk', kind, filters],
    queryFn: async () => (kind === 'retry' ? (await api.eventDeliveries.countBatchRetry(filters)).num : null),
    staleTime: 0,
  });
  const title = kind === 'retry' ? 'Retry deliveries' : 'Cancel deliveries';
  if (count.data === undefined)
    return (
      <Dialog title={title} onClose={onClose}>
        <QueryView query={count} label="Counting deliveries" rows={2}>
          {() => null}
        </QueryView>
      </Dialog>
    );
  return <Confirm title={title} count={count.data} {...{ kind, filters, onClose }} />;
}

function Confirm({ kind, filters, onClose, title, count }: Props & { title: string; count: number | null }) {
  const { api, at } = useProject();
  const router = useRouter();
  const what = count === null ? 'open deliveries' : plural(count, 'delivery', 'deliveries');
  return (
    <FormDialog
      title={title}
      action={`${kind === 'retry' ? 'Retry' : 'Cancel'} ${what}`}
      danger={kind === 'cancel'}
      onClose={onClose}
      explain={errorText}
      onSubmit={async () => {
        const { eventDeliveries } = api;
        const job = await (kind === 'retry'
          ? eventDeliveries.batchRetry(filters)
          : eventDeliveries.cancel(filters));
        router.history.push(at(`jobs/${job.uid}`));
      }}
    >
      <p>
        {kind === 'retry'
          ? 'The filters of the list choose these failed and discarded deliveries. Each is sent again with fresh tries. A job does it, and its page shows the progress.'
          : 'Every delivery of the filters that has not ended is discarded. What is on its way is not called back.'}
      </p>
    </FormDialog>
  );
}
