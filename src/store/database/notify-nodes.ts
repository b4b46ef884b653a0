import type { Queryable } from './database.ts';

export const CONFIG_CHANNEL = 'posthorn_config';

/** Notifies the other nodes at commit that the config of a project, or the access to it, changed. */
export async function notifyNodes(tx: Queryable, projectId: string): Promise<void> {
  await tx.query('select pg_notify($1, $2)', [CONFIG_CHANNEL, projectId]);
}

export const PEOPLE_CHANNEL = 'posthorn_people';

/** Notifies the other nodes at commit that the rights or the sessions of a person changed. */
export async function notifyOfPerson(tx: Queryable, personId: string): Promise<void> {
  await tx.query('select pg_notify($1, $2)', [PEOPLE_CHANNEL, personId]);
}

export const JOBS_CHANNEL = 'posthorn_jobs';
export const NEW_JOB = 'new';
export const HELD_IDS = 'held';
export const SEEN_CONFIG = 'seen';

/** Notifies the other nodes at commit that a job waits. They would find it within a second. */
export async function notifyOfJob(tx: Queryable): Promise<void> {
  await tx.query('select pg_notify($1, $2)', [JOBS_CHANNEL, NEW_JOB]);
}

/** A job needs to know which ids other nodes still hold: each of them beats at once. */
export async function askForInFlightIds(db: Queryable): Promise<void> {
  await db.query('select pg_notify($1, $2)', [JOBS_CHANNEL, HELD_IDS]);
}

/** A mover needs to know that other nodes have seen a change: each of them looks, and then beats, at once. */
export async function askForSeenConfig(db: Queryable): Promise<void> {
  await db.query('select pg_notify($1, $2)', [JOBS_CHANNEL, SEEN_CONFIG]);
}
