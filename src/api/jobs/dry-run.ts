import { badQuery } from '../../domain/errors.ts';
import { queryFlag, queryValue } from '../../domain/pagination.ts';
import { oneOf, Type } from '../../platform/type.ts';
import type { Call } from '../http/call.ts';
import { NullableTime, Time } from '../http/fields.ts';

/** Parameters of every call that starts a job on events or deliveries. */
export const jobQuery = {
  dry_run: Type.Optional(
    Type.Boolean({
      description: 'Count what the job would do, and show some of it. Nothing is started or sent.',
    }),
  ),
  rate: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: 'Rows per second at most. By default there is no limit.',
    }),
  ),
};

const MAX_RATE = 1_000;

interface JobOptions {
  isDryRun: boolean;
  rate: number | undefined;
}

export function jobOptions(query: Call<unknown>['query']): JobOptions {
  const isDryRun = queryFlag(query, 'dry_run') ?? false;
  const given = queryValue(query, 'rate');
  const rate = given === undefined ? undefined : Number(given);
  if (rate !== undefined && !(Number.isInteger(rate) && rate >= 1 && rate <= MAX_RATE))
    throw badQuery('rate', `must be a whole number from 1 to ${MAX_RATE}`);
  return { isDryRun, rate };
}

/** The answer says that nothing was started. */
export const dryRunAnswer = ({ query }: Pick<Call<unknown>, 'query'>) =>
  jobOptions(query).isDryRun
    ? ({ status: 200, message: 'Dry run: nothing was started' } as const)
    : undefined;

/** How many rows of a sample are shown. */
export const SAMPLE = 10;
/** How many endpoints are named. */
export const NAMED = 100;

const count = Type.Integer();

/** The counts of a job that was not started. */
export const DryRun = Type.Object({
  total: Type.Integer({ description: 'Rows of the job, exactly.' }),
  deliveries: Type.Integer({
    description:
      'Deliveries that the job sends again or cancels. For a replay: new deliveries under the current subscriptions.',
  }),
  examined: Type.Integer({
    description: 'Rows that were matched for `deliveries`: for a replay at most the oldest 2,000, else all.',
  }),
  is_estimate: Type.Boolean({
    description:
      'Not all rows were examined. `deliveries` and the counts of `by_endpoint` are extrapolated from those that were.',
  }),
  oldest_at: NullableTime,
  endpoints: Type.Integer({ description: 'How many endpoints the deliveries are for.' }),
  by_endpoint: Type.Array(Type.Object({ endpoint_id: Type.String(), name: Type.String(), count }), {
    description: 'The largest first, at most 100.',
  }),
  by_status: Type.Array(Type.Object({ status: Type.String(), count })),
  by_outcome: Type.Array(Type.Object({ outcome: Type.String(), count }), {
    description: 'Deliveries by the result of the last attempt. Empty for events.',
  }),
  sample: Type.Array(
    Type.Object({
      uid: Type.String(),
      event_type: Type.String(),
      endpoint_id: Type.String({ description: 'Empty for events.' }),
      status: Type.String(),
      last_outcome: Type.String(),
      created_at: Time,
    }),
    { description: 'The newest of them.' },
  ),
});

/** An option of calls that send again. */
export const orderOption = {
  order: Type.Optional(
    oneOf(['ignore'], 'Send without regard to [order by key](ordering.md). A held key stays held.'),
  ),
};

export function ignoresOrder(query: Call<unknown>['query']): boolean {
  const given = queryValue(query, 'order');
  if (given !== undefined && given !== 'ignore') throw badQuery('order', 'must be ignore, or absent');
  return given === 'ignore';
}
