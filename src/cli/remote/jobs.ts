import type { Job } from '../../../client/src/posthorn.ts';
import { many, one } from './resources.ts';

export const listJobs = many<Job>(
  [
    ['UID', ({ uid }) => uid],
    ['TYPE', ({ type }) => type],
    ['STATUS', ({ status }) => status],
    ['DONE', ({ done, total }) => (total === null ? String(done) : `${done}/${total}`)],
    ['FAILED', ({ failed }) => failed],
    ['ERROR', ({ error }) => error],
    ['CREATED', ({ created_at }) => created_at],
  ],
  (posthorn) => posthorn.jobs.list(),
);

export const getJob = one((posthorn, given) => posthorn.jobs.get(given.operand()));

export const cancelJob = one((posthorn, given) => posthorn.jobs.cancel(given.operand()));
