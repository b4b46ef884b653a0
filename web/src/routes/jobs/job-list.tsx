import type { Job } from 'posthorn-client';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { ListLayout } from '../../dashboard/lists/list-layout.tsx';
import { LiveList } from '../../dashboard/lists/live-list.tsx';
import { JobBadge } from '../../dashboard/states.tsx';
import { useProject } from '../../data/project.ts';
import { useRows } from '../../data/rows.ts';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState } from '../../ui/page/states.tsx';
import type { Column } from '../../ui/tables/columns.ts';
import { Link } from '../../ui/text/link.tsx';
import { count } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';
import { JOB_WORDS } from './words.ts';

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
  {
    name: 'Customer',
    width: 'minmax(5rem, 9rem)',
    from: 620,
    cell: ({ owner_id }) => <CustomerLink owner={owner_id} />,
  },
  { name: 'Description', width: 'minmax(8rem, 2fr)', from: 900, cell: ({ description }) => description },
  {
    name: 'Started',
    width: '6.5rem',
    from: 520,
    isTime: true,
    line: 2,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];

export function JobList() {
  const { api, id, at } = useProject();
  const rows = useRows<Job>({ key: [id, 'jobs'], load: (page) => api.jobs.list(page).page(), live: true });
  return (
    <ListLayout>
      <PageHead title="Jobs" />
      <LiveList
        label="Jobs"
        noun="job"
        rows={rows}
        columns={columns}
        href={({ uid }) => at(`jobs/${uid}`)}
        name={({ type, uid }) => `${JOB_WORDS[type]} ${uid}`}
        empty={
          <EmptyState
            title="No jobs yet"
            text={
              <>
                A job retries, replays or cancels many at once. Start one from the list of{' '}
                <Link className="link" href={at('deliveries')}>
                  deliveries
                </Link>{' '}
                or{' '}
                <Link className="link" href={at('events')}>
                  events
                </Link>
                .
              </>
            }
          />
        }
      />
    </ListLayout>
  );
}
