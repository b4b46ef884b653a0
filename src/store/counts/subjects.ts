/** Columns of counts, of a project, an endpoint or a source. */
export const TOTALS = [
  'accepted',
  'first_attempts',
  'attempts',
  'failed_attempts',
  'resent_attempts',
  'delivered',
  'failed',
  'discarded',
] as const;

export type Totals = Record<(typeof TOTALS)[number], number>;

const OF_A_ROW = TOTALS.filter((name) => name !== 'accepted');

/** Recent counts by subject: a row counts for its project, its endpoint and its source. */
export const SUBJECTS = (rows: string): string =>
  `select r.project_id, s.subject_id, r.minute, s.accepted, ${OF_A_ROW.map((name) => `r.${name}`).join(', ')}, r.latencies
  from ${rows} r cross join lateral (
    values (r.project_id, r.events), (r.endpoint_id, r.deliveries), (r.source_id, r.events)
  ) as s(subject_id, accepted)
  where s.subject_id is not null`;
