import type { Job } from 'posthorn-client';
import { StateBadge, type StateLook } from '../ui/text/state-badge.tsx';

export function OnOffBadge({ on, off = 'Inactive' }: { on: boolean; off?: string }) {
  const look: StateLook = on
    ? { tone: 'ok', shape: 'check', word: 'Active' }
    : { tone: 'off', shape: 'slash', word: off };
  return <StateBadge look={look} />;
}

const JOB_LOOKS: Readonly<Record<Job['status'], StateLook>> = {
  queued: { tone: 'due', shape: 'clock', word: 'Queued' },
  running: { tone: 'run', shape: 'arrow', word: 'Running' },
  completed: { tone: 'off', shape: 'check', word: 'Completed' },
  cancelled: { tone: 'off', shape: 'slash', word: 'Stopped' },
  dry_run: { tone: 'off', shape: 'clock', word: 'Dry run' },
  failed: { tone: 'bad', shape: 'cross', word: 'Failed' },
};

export const JobBadge = ({ job }: { job: Pick<Job, 'status' | 'result' | 'done'> }) => (
  <StateBadge look={resultLook(job) ?? JOB_LOOKS[job.status]} />
);

/** A completed job may have sent deliveries that all failed again. */
function resultLook({ result, done }: Pick<Job, 'result' | 'done'>): StateLook | undefined {
  if (result === null) return undefined;
  const { delivered, failed, retrying } = result;
  if (delivered >= done) return { tone: 'ok', shape: 'check', word: 'All delivered' };
  return failed + retrying >= done ? { tone: 'bad', shape: 'cross', word: 'All failed again' } : undefined;
}

export const JOB_WORDS: Readonly<Record<Job['type'], string>> = {
  batch_replay: 'Replay',
  batch_retry: 'Retry',
  batch_cancel: 'Cancel',
  send_now: 'Send now',
  onboard: 'Onboarding',
};
