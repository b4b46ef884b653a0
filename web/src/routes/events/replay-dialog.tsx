import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { plural } from '../../data/delivery-state.ts';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { Dialog, FormDialog } from '../../ui/controls/dialog.tsx';
import type { eventFilters } from './queries.ts';

/** Replays what the filters of the list show. The count is exact at this moment. */
export function ReplayDialog({
  filters,
  onClose,
}: {
  filters: ReturnType<typeof eventFilters>;
  onClose(): void;
}) {
  const { api, id, at } = useProject();
  const router = useRouter();
  const count = useQuery({
    queryKey: [id, 'replay', filters],
    queryFn: () => api.events.countBatchReplay(filters),
    staleTime: 0,
  });
  const title = 'Replay events';
  if (count.data === undefined)
    return (
      <Dialog title={title} onClose={onClose}>
        <QueryView query={count} label="Counting events" rows={2}>
          {() => null}
        </QueryView>
      </Dialog>
    );
  const what = plural(count.data.num, 'event');
  return (
    <FormDialog
      title={title}
      action={`Replay ${what}`}
      onClose={onClose}
      explain={errorText}
      onSubmit={async () => {
        const job = await api.events.batchReplay(filters);
        router.history.push(at(`jobs/${job.uid}`));
      }}
    >
      <p>
        The filters of the list choose <strong>{what}</strong>. Each is matched again under the current
        subscriptions and sent to every match. Duplicates are left out.
      </p>
    </FormDialog>
  );
}
