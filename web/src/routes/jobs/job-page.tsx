import { useQuery } from '@tanstack/react-query';
import type { Job } from 'posthorn-client';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { BackToList, useOpenId } from '../../dashboard/lists/list-layout.tsx';
import { May } from '../../dashboard/may.tsx';
import { JobBadge } from '../../dashboard/states.tsx';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { useAct } from '../../parts/use-act.ts';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Link } from '../../ui/text/link.tsx';
import { count } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';
import { JOB_WORDS } from './words.ts';

const isOver = ({ status }: Job): boolean => status !== 'queued' && status !== 'running';

export function JobPage() {
  const { api, id: project, at } = useProject();
  const id = useOpenId() ?? '';
  const job = useQuery({
    queryKey: [project, 'job', id],
    queryFn: () => api.jobs.get(id),
    refetchInterval: ({ state }) => (state.data !== undefined && isOver(state.data) ? false : 500),
  });
  return (
    <>
      <BackToList href={at('jobs')} label="Jobs" />
      <QueryView query={job} label="Loading the job">
        {(data) => <JobView job={data} />}
      </QueryView>
    </>
  );
}

function JobView({ job }: { job: Job }) {
  const { api, at } = useProject();
  const stop = useAct(
    () => api.jobs.cancel(job.uid),
    () => 'Stop requested. Finished work is not undone.',
  );
  const total = job.total ?? 0;
  return (
    <>
      <PageHead title={JOB_WORDS[job.type]} beside={<JobBadge job={job} />}>
        {!isOver(job) && (
          <May use="cancelJob">
            <Button
              look="danger"
              icon="cross"
              onClick={() => stop.mutate()}
              busy={stop.isPending && 'Asking'}
            >
              Stop
            </Button>
          </May>
        )}
      </PageHead>
      <p className="mb-2 text-base">
        {count(job.done)} of {count(job.total)} done{job.failed > 0 && `, ${count(job.failed)} failed`}
      </p>
      <progress
        className="mb-4 h-2 w-full appearance-none bg-line [&::-moz-progress-bar]:bg-part-4 [&::-webkit-progress-bar]:bg-line [&::-webkit-progress-value]:bg-part-4"
        aria-label="Progress"
        value={job.done}
        max={Math.max(total, job.done, 1)}
      />
      {job.error !== '' && (
        <p role="alert" className="mb-3 text-bad">
          {job.error}
        </p>
      )}
      <Facts
        items={[
          ['What it does', job.description],
          [
            'Endpoint',
            job.endpoint_id === '' ? undefined : (
              <Link key="" className="link" href={at(`endpoints/${job.endpoint_id}`)}>
                {job.endpoint_name || job.endpoint_id}
              </Link>
            ),
          ],
          ['Customer', job.owner_id === '' ? undefined : <CustomerLink key="" owner={job.owner_id} />],
          ['Requested', <Time key="" at={job.created_at} />],
          ['Started', <Time key="" at={job.started_at} none="not yet" />],
          ['Finished', <Time key="" at={job.finished_at} none="not yet" />],
          ['ID', <Id key="" value={job.uid} what="job id" />],
        ]}
      />
      {isOver(job) && (
        <p className="mt-4 max-w-[75ch] text-muted">
          Deliveries that it queued are sent as their endpoints take them. Each shows its own state.
        </p>
      )}
    </>
  );
}
