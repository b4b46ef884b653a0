import type { Job } from 'posthorn-client';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { RowPage } from '../../dashboard/lists/row-page.tsx';
import { May } from '../../dashboard/may.tsx';
import { JOB_WORDS, JobBadge } from '../../dashboard/states.tsx';
import { useProject } from '../../data/project.ts';
import { ActButton } from '../../parts/acts.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { count } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';

const waits = ({ result }: Job): boolean => (result?.waiting ?? 0) > 0;
const isOver = ({ status }: Job): boolean => status !== 'queued' && status !== 'running';

export const JobPage = () => (
  <RowPage
    list="jobs"
    title="Jobs"
    noun="job"
    load={({ jobs }, id) => jobs.get(id)}
    everyMs={(job) => (job === undefined || !isOver(job) ? 500 : waits(job) ? 2000 : undefined)}
  >
    {(job) => <JobView job={job} />}
  </RowPage>
);

function resultText({ delivered, failed, retrying, waiting }: NonNullable<Job['result']>): string {
  const parts = [
    `${count(delivered)} delivered`,
    `${count(failed + retrying)} failed again${retrying > 0 ? `, ${count(retrying)} of them will be retried` : ''}`,
    ...(waiting > 0 ? [`${count(waiting)} not sent yet`] : []),
  ];
  return `Since then: ${parts.join(', ')}.`;
}

function JobView({ job }: { job: Job }) {
  const { api } = useProject();
  const total = job.total ?? 0;
  return (
    <>
      <PageHead title={JOB_WORDS[job.type]} beside={<JobBadge job={job} />}>
        {!isOver(job) && (
          <May use="cancelJob">
            <ActButton
              look="danger"
              icon="cross"
              act={() => api.jobs.cancel(job.uid)}
              done={() => 'Stop requested. Finished work is not undone.'}
            >
              Stop
            </ActButton>
          </May>
        )}
      </PageHead>
      <p className="mb-2 text-base">
        {count(job.done)} of {count(job.total)} done{job.failed > 0 && `, ${count(job.failed)} failed`}
      </p>
      {job.result !== null && <p className="mb-2">{resultText(job.result)}</p>}
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
              <PageLink key="" to={`endpoints/${job.endpoint_id}`}>
                {job.endpoint_name || job.endpoint_id}
              </PageLink>
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
