import { useQuery } from '@tanstack/react-query';
import type { Job } from 'posthorn-client';
import { useWords } from '../parts/words.ts';
import { Time } from '../ui/text/time.tsx';
import { api } from './session.ts';

const OPEN = new Set(['queued', 'running']);

/** How far a job has come that sends deliveries. */
export function RetryProgress({ job: started }: { job: Job | undefined }) {
  const { deliveries: t } = useWords();
  const query = useQuery({
    queryKey: ['job', started?.uid],
    queryFn: () => api.jobs.get(started?.uid ?? ''),
    enabled: started !== undefined,
    refetchInterval: ({ state }) => (state.data === undefined || OPEN.has(state.data.status) ? 1000 : false),
  });
  const job = query.data ?? started;
  if (job === undefined) return null;
  return (
    <p role="status" className="my-1 text-muted">
      {OPEN.has(job.status) ? (
        t.queueing(job.done, job.total)
      ) : (
        <>
          {t.queued(job.done)}, <Time at={job.finished_at} />
        </>
      )}
    </p>
  );
}
