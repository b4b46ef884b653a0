import type { Job } from 'posthorn-client';
import { createdColumn, customerColumn } from '../../dashboard/lists/list-columns.tsx';
import { ResourceList } from '../../dashboard/lists/resource-list.tsx';
import { JOB_WORDS, JobBadge } from '../../dashboard/states.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { count } from '../../ui/text/numbers.ts';

const columns: Column<Job>[] = [
  { name: 'What', width: '7rem', line: 1, cell: ({ type }) => JOB_WORDS[type] },
  { name: 'State', width: '7rem', line: 1, cell: (job) => <JobBadge job={job} /> },
  {
    name: 'Done',
    width: '8rem',
    right: true,
    line: 2,
    cell: ({ done, total }) => `${count(done)} of ${count(total)}`,
  },
  {
    name: 'Endpoint',
    width: 'minmax(6rem, 1fr)',
    from: 720,
    cell: ({ endpoint_name: name, endpoint_id: id }) => name || id || '–',
  },
  customerColumn(({ owner_id }) => owner_id, 620),
  { name: 'Description', width: 'minmax(8rem, 2fr)', from: 900, cell: ({ description }) => description },
  createdColumn({ name: 'Started', from: 520, line: 2 }),
];

export const JobList = () => (
  <ResourceList
    title="Jobs"
    page="jobs"
    noun="job"
    columns={columns}
    load={({ jobs }, query) => jobs.list(query)}
    name={({ type, uid }) => `${JOB_WORDS[type]} ${uid}`}
    empty={
      <EmptyState
        title="No jobs yet"
        text={
          <>
            A job retries, replays or cancels many at once. Start one from the list of{' '}
            <PageLink to="deliveries">deliveries</PageLink> or <PageLink to="events">events</PageLink>.
          </>
        }
      />
    }
  />
);
