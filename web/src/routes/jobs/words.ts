import type { Job } from 'posthorn-client';

export const JOB_WORDS: Readonly<Record<Job['type'], string>> = {
  batch_replay: 'Replay',
  batch_retry: 'Retry',
  batch_cancel: 'Cancel',
  send_now: 'Send now',
  onboard: 'Onboarding',
};
