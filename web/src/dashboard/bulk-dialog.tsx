import { useQuery } from '@tanstack/react-query';
import type { Job, Posthorn } from 'posthorn-client';
import { plural } from '../data/delivery-state.ts';
import { errorText } from '../data/explain-error.ts';
import { useProject } from '../data/project.ts';
import { QueryView } from '../parts/query-view.tsx';
import { Dialog, FormDialog } from '../ui/controls/dialog.tsx';
import { TextField } from '../ui/controls/fields.tsx';
import { formText } from '../ui/controls/form-text.ts';
import { useGo } from '../ui/text/link.tsx';
import { Time } from '../ui/text/time.tsx';
import { DryRunView } from './dry-run.tsx';

export type BulkFilters = NonNullable<Parameters<Posthorn['eventDeliveries']['batchRetry']>[0]>;

interface Props {
  kind: 'retry' | 'cancel';
  filters: BulkFilters;
  /** The origin of the choice, such as "The filters of the list choose". */
  chosenBy: string;
  onClose(): void;
}

type DryRun = NonNullable<Job['dry_run']>;

const start = ({ eventDeliveries }: Posthorn, kind: Props['kind'], query: BulkFilters) =>
  kind === 'retry' ? eventDeliveries.batchRetry(query) : eventDeliveries.cancel(query);

/** Retries or cancels what the filters choose, as a job. A dry run counts first. */
export function BulkDialog({ kind, filters, chosenBy, onClose }: Props) {
  const { api, id } = useProject();
  const dryRun = useQuery({
    queryKey: [id, 'dry run', kind, filters],
    queryFn: async () => (await start(api, kind, { ...filters, dry_run: true })).dry_run,
    staleTime: 0,
  });
  const title = kind === 'retry' ? 'Retry deliveries' : 'Cancel deliveries';
  if (dryRun.data === undefined || dryRun.data === null)
    return (
      <Dialog title={title} onClose={onClose}>
        <QueryView query={dryRun} label="Counting deliveries" rows={3}>
          {() => null}
        </QueryView>
      </Dialog>
    );
  if (dryRun.data.total === 0)
    return (
      <Dialog title={title} onClose={onClose}>
        <p>
          There is nothing to {kind}:{' '}
          {kind === 'retry'
            ? 'only failed and discarded deliveries are retried.'
            : 'only open deliveries can be cancelled.'}
        </p>
      </Dialog>
    );
  return <Confirm title={title} dryRun={dryRun.data} {...{ kind, filters, chosenBy, onClose }} />;
}

function Confirm({
  kind,
  filters,
  chosenBy,
  onClose,
  title,
  dryRun,
}: Props & { title: string; dryRun: DryRun }) {
  const { api, at } = useProject();
  const go = useGo();
  const what = plural(dryRun.total, 'delivery', 'deliveries');
  const run = async (form: FormData) => {
    const rate = Number(formText(form, 'rate'));
    const job = await start(api, kind, { ...filters, ...(rate > 0 ? { rate } : {}) });
    go(at(`jobs/${job.uid}`));
  };
  return (
    <FormDialog
      title={title}
      action={`${kind === 'retry' ? 'Retry' : 'Cancel'} ${what}`}
      danger={kind === 'cancel'}
      onClose={onClose}
      explain={errorText}
      onSubmit={run}
    >
      <p>
        {chosenBy} <strong>{what}</strong> to {plural(dryRun.endpoints, 'endpoint')}
        {dryRun.oldest_at !== null && (
          <>
            , the oldest from <Time at={dryRun.oldest_at} />
          </>
        )}
        .{' '}
        {kind === 'retry'
          ? 'Each is sent again with all its attempts.'
          : 'Each is discarded. Requests in flight are not stopped.'}
      </p>
      <DryRunView dryRun={dryRun} />
      <TextField
        label="Rate limit (per second)"
        name="rate"
        type="number"
        min="1"
        max="1000"
        hint="Optional. Defaults to as fast as the endpoints take them."
      />
    </FormDialog>
  );
}
