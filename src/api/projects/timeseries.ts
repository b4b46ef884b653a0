import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { AppError, badQuery } from '../../domain/errors.ts';
import { queryValue, queryValues } from '../../domain/pagination.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { percentileMs } from '../../store/counts/latency.ts';
import {
  type CountPoint,
  type CountQuery,
  readCounts,
  readLatencies,
} from '../../store/counts/read-counts.ts';
import type { Queryable } from '../../store/database/database.ts';
import { breakerOpenings } from '../../store/limits/breakers.ts';
import type { Call } from '../http/call.ts';
import type { ReadContext } from '../http/context.ts';
import { dateQuery, dateRange, iso, isoOrNull, NullableTime, Repeated, Time } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';

const steps = ['minute', 'hour', 'day'] as const;
type SeriesStep = (typeof steps)[number];

const LENGTH_MS: Record<SeriesStep, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };
const DEFAULT_RANGE_MS = 3_600_000;
const MAX_POINTS = 2_000;
/** Up to this range the default step is a minute, and up to the next an hour. */
const MINUTES_UP_TO_MS = 6 * 3_600_000;
const HOURS_UP_TO_MS = 14 * 86_400_000;

const Latency = nullable(
  Type.Object({ p50: Type.Number(), p90: Type.Number(), p99: Type.Number() }),
  'Milliseconds from acceptance to the successful response, retries included, resends not. Estimated from a histogram. Null without deliveries.',
);

export const TimeSeriesTotals = Type.Object({
  accepted: Type.Integer({ description: 'Events of the project or source. For endpoints: deliveries made.' }),
  delivered: Type.Integer({ description: 'Deliveries that ended as Success.' }),
  failed: Type.Integer({ description: 'Deliveries that ended as Failure.' }),
  discarded: Type.Integer({ description: 'Deliveries that ended as Discarded.' }),
  attempts: Type.Integer({ description: 'Requests to endpoints, tests not included.' }),
  failed_attempts: Type.Integer({ description: 'Attempts that failed, also where the delivery is retried.' }),
  resent_attempts: Type.Integer({ description: 'Attempts of deliveries after a retry by hand or in bulk.' }),
  latency: Latency,
});

export const TimeSeriesPoint = Type.Object({ start: Time, ...TimeSeriesTotals.properties });

export const BreakerOpening = Type.Object({
  endpoint_id: Type.String(),
  endpoint_name: Type.String(),
  owner_id: Type.String(),
  opened_at: Time,
  closed_at: Type.Union([NullableTime], { description: 'Null: it is still open.' }),
});

const TimeSeries = Type.Object({
  step: oneOf(steps),
  points: Type.Array(TimeSeriesPoint, {
    description: 'One for each step, oldest first, also where nothing happened.',
  }),
  totals: TimeSeriesTotals,
  breaker_openings: Type.Array(BreakerOpening, {
    description:
      'When circuit breakers of these endpoints were open in the range, oldest first: the last 500, and 50 of each endpoint. None for sources.',
  }),
});

/** Counts over time, per minute and hour (src/store/counts/). */
export function registerTimeSeries(app: FastifyInstance, { db, now, cache }: ReadContext): void {
  operationsOf('Dashboard').get(app, '/api/v1/projects/:projectID/timeseries', {
    id: 'getTimeSeries',
    summary:
      'Count events, deliveries and attempts over time, of the project or of some endpoints or sources.',
    query: Type.Object({
      ...dateQuery,
      step: Type.Optional(
        oneOf(steps, 'By default a minute up to 6 hours, an hour up to 14 days, else a day.'),
      ),
      endpointId: Repeated('The sum of these endpoints.'),
      sourceId: Repeated('The sum of these sources.'),
    }),
    message: 'Time series fetched',
    data: TimeSeries,
    portal: 'read',
    access: 'viewer',
    handle: async ({ project, query, scope }) => {
      const { subjectIds, endpointIds } = subjectsOf(project, query, scope);
      const range = rangeOf(query, now());
      const asked: CountQuery = { projectId: project.id, subjectIds, ...range };
      const routing = await cache.get(project.id);
      const [rows, latencies, openings] = await db.staleReading(project.id, async (tx) => [
        await readCounts(tx, asked),
        await readLatencies(tx, asked),
        await readOpenings(tx, routing, { ...range, endpointIds }),
      ]);
      return {
        step: range.step,
        ...seriesOf(rows, latencies, range),
        breaker_openings: openings,
      };
    },
  });
}

interface Subjects {
  subjectIds: string[];
  /** The endpoints among them. Null: all of the project. */
  endpointIds: string[] | null;
}

/** Counters do not tell event types apart, so a link that is limited to some types gets none. */
function subjectsOf(
  project: ProjectRow,
  query: Call<unknown>['query'],
  scope: EndpointScope | undefined,
): Subjects {
  const endpointIds = queryValues(query, 'endpointId');
  const sourceIds = queryValues(query, 'sourceId');
  if (scope !== undefined) {
    if (scope.eventTypes.length > 0) throw new AppError('portal_forbidden', { what: 'time series' });
    const owned = [...scope.endpointIds];
    if (sourceIds.length > 0) return { subjectIds: [], endpointIds: [] };
    const seen = endpointIds.length === 0 ? owned : owned.filter((id) => endpointIds.includes(id));
    return { subjectIds: seen, endpointIds: seen };
  }
  if (endpointIds.length > 0 && sourceIds.length > 0)
    throw badQuery('sourceId', 'cannot be combined with endpointId');
  const named = [...endpointIds, ...sourceIds];
  return named.length === 0
    ? { subjectIds: [project.id], endpointIds: null }
    : { subjectIds: named, endpointIds };
}

export interface Range {
  step: SeriesStep;
  fromMs: number;
  toMs: number;
}

/** Whole steps. The last one contains the end. */
export function rangeOf(query: Call<unknown>['query'], nowMs: number): Range {
  const dates = dateRange(query);
  const endMs = dates.toMs ?? Math.max(nowMs, dates.fromMs ?? 0);
  const beginMs = dates.fromMs ?? endMs - DEFAULT_RANGE_MS;
  const asked = queryValue(query, 'step');
  const step = asked === undefined ? defaultStep(endMs - beginMs) : steps.find((name) => name === asked);
  if (step === undefined) throw badQuery('step', `must be one of ${steps.join(', ')}`);
  const length = LENGTH_MS[step];
  const fromMs = Math.floor(beginMs / length) * length;
  const toMs = (Math.floor(endMs / length) + 1) * length;
  if ((toMs - fromMs) / length > MAX_POINTS)
    throw badQuery('step', `gives more than ${MAX_POINTS} points; use a longer step or a shorter range`);
  return { step, fromMs, toMs };
}

function defaultStep(rangeMs: number): SeriesStep {
  if (rangeMs <= MINUTES_UP_TO_MS) return 'minute';
  return rangeMs <= HOURS_UP_TO_MS ? 'hour' : 'day';
}

type Point = Omit<CountPoint, 'start' | 'first_attempts'>;
type Histogram = Map<number, number>;

const NOTHING: Point = {
  accepted: 0,
  delivered: 0,
  failed: 0,
  discarded: 0,
  attempts: 0,
  failed_attempts: 0,
  resent_attempts: 0,
};

function seriesOf(
  rows: readonly CountPoint[],
  latencies: readonly { start: number; bucket: number; count: number }[],
  { step, fromMs, toMs }: Range,
): Pick<Static<typeof TimeSeries>, 'points' | 'totals'> {
  const byStart = new Map(rows.map((row) => [row.start, row]));
  const histograms = new Map<number, Histogram>();
  const all: Histogram = new Map();
  for (const { start, bucket, count } of latencies) {
    const one = histograms.get(start) ?? new Map<number, number>();
    one.set(bucket, count);
    histograms.set(start, one);
    all.set(bucket, (all.get(bucket) ?? 0) + count);
  }
  const points = [];
  for (let start = fromMs; start < toMs; start += LENGTH_MS[step]) {
    const row = byStart.get(start);
    points.push({
      start: iso(start),
      ...total(row === undefined ? [] : [row]),
      latency: percentiles(histograms.get(start)),
    });
  }
  return { points, totals: { ...total(rows), latency: percentiles(all) } };
}

function total(rows: readonly CountPoint[]): Point {
  const sum = { ...NOTHING };
  for (const row of rows) for (const name of Object.keys(sum) as (keyof Point)[]) sum[name] += row[name];
  return sum;
}

function percentiles(histogram: Histogram = new Map()): Static<typeof Latency> {
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((share) => percentileMs(histogram, share));
  if (p50 == null || p90 == null || p99 == null) return null;
  return { p50: rounded(p50), p90: rounded(p90), p99: rounded(p99) };
}

const rounded = (ms: number) => Math.round(ms * 10) / 10;

/** When breakers were open in a range. Endpoints that were deleted since have no name, and are left out. */
async function readOpenings(
  tx: Queryable,
  { project, endpoints }: ProjectRouting,
  asked: Parameters<typeof breakerOpenings>[2],
): Promise<Static<typeof BreakerOpening>[]> {
  const rows = await breakerOpenings(tx, project.id, asked);
  return rows.flatMap(({ endpoint_id, opened_at, closed_at }) => {
    const endpoint = endpoints.get(endpoint_id)?.row;
    if (endpoint === undefined) return [];
    const { name: endpoint_name, owner_id } = endpoint;
    const times = { opened_at: iso(opened_at), closed_at: isoOrNull(closed_at) };
    return [{ endpoint_id, endpoint_name, owner_id, ...times }];
  });
}
