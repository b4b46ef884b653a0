import type { DryRun, Job, Posthorn } from '../../../client/src/posthorn.ts';
import { EXIT, StartupError, usageError } from '../../platform/startup-error.ts';
import type { Given } from '../terminal/command.ts';
import { counted, line, printOne, shownTime } from '../terminal/output.ts';
import { endProgress, showProgress } from '../terminal/progress.ts';
import { withService } from './connect.ts';
import { deliveryQuery, eventQuery } from './history.ts';

/*
 * replay, retry, send now and cancel. With ids each is done by itself. With filters the service runs a job, and the command shows
 * its progress until it ends. Ctrl-C ends the command, not the job.
 */
interface Bulk {
  /** Acts on the one with this id. */
  one?: (posthorn: Posthorn, id: string) => Promise<unknown>;
  /** Says what the same would do. */
  trial?: (posthorn: Posthorn, id: string) => Promise<string>;
  start(posthorn: Posthorn, options: { dry_run: boolean; rate?: number }): Promise<Job>;
  done: string;
}

export const replay = (given: Given): Promise<number> =>
  run(given, {
    one: (posthorn, id) => posthorn.events.replay(id, { ...sentTo(given), ...orderOf(given) }),
    trial: async (posthorn, id) => {
      const made = await posthorn.events.explain(id, sentTo(given));
      const count = made.replay_deliveries;
      return `${counted(count, 'new delivery', 'new deliveries')} to ${counted(made.replay_endpoints, 'endpoint')}`;
    },
    start: (posthorn, options) =>
      posthorn.events.batchReplay({
        ...eventQuery(given),
        ...sentTo(given),
        ...options,
        ...orderOf(given),
        ...(given.has('only-endpoint') && { only_endpoint: true }),
      }),
    done: 'replayed',
  });

export const retry = (given: Given): Promise<number> =>
  run(given, {
    one: (posthorn, id) => posthorn.eventDeliveries.resend(id, orderOf(given)),
    start: (posthorn, options) =>
      posthorn.eventDeliveries.batchRetry({ ...deliveryQuery(given), ...options, ...orderOf(given) }),
    done: 'queued again',
  });

/** The filters of a replay choose events. These are the endpoints that it is sent to. */
const sentTo = (given: Given) => ({
  ...given.fields({ to_owner: 'owner' }),
  ...given.lists({ to_endpoint: 'endpoint' }),
});

const orderOf = (given: Given): { order?: 'ignore' } =>
  given.text('order') === undefined ? {} : { order: 'ignore' };

export const sendNow = (given: Given): Promise<number> =>
  run(given, {
    start: (posthorn, options) =>
      posthorn.eventDeliveries.sendNow({
        ...deliveryQuery(given),
        ...(given.operands.length > 0 && { deliveryId: [...given.operands] }),
        ...options,
      }),
    done: 'due now',
  });

export const cancel = (given: Given): Promise<number> =>
  run(given, {
    start: (posthorn, options) => posthorn.eventDeliveries.cancel({ ...deliveryQuery(given), ...options }),
    done: 'cancelled',
  });

async function run(given: Given, bulk: Bulk): Promise<number> {
  const rate = given.count('rate');
  const isTrial = given.has('dry-run');
  const filters = { ...deliveryQuery(given), ...eventQuery(given) };
  if (given.operands.length === 0 && Object.keys(filters).length === 0 && !given.has('all'))
    throw usageError('name ids or filters, or --all for everything; --dry-run shows what would be done');
  const [empty] = Object.entries(filters).find(([, value]) => [value].flat().includes('')) ?? [];
  // The service takes an empty filter for none: an unset variable of a script would choose everything.
  if (empty !== undefined) throw usageError(`the filter ${empty} is empty; leave it out, or give it a value`);
  return withService(given, async (posthorn) => {
    if (given.operands.length > 0 && bulk.one !== undefined) {
      for (const id of given.operands) {
        if (!isTrial) await bulk.one(posthorn, id);
        const would = isTrial ? await bulk.trial?.(posthorn, id) : undefined;
        const outlook = would === undefined ? '' : ` (${would})`;
        line(`${isTrial ? 'would be ' : ''}${bulk.done}: ${id}${outlook}`);
      }
      return EXIT.done;
    }
    const job = await bulk.start(posthorn, { dry_run: isTrial, ...(rate !== undefined && { rate }) });
    if (isTrial) {
      const { dry_run: counts } = job;
      if (counts !== null) await printOne(given, counts, trialText(job.type, bulk.done, counts));
      return EXIT.done;
    }
    return follow(posthorn, job, bulk.done);
  });
}

const NAMED = 10;
const deliveries = (count: number) => counted(count, 'delivery', 'deliveries');

function trialText(type: Job['type'], done: string, counts: DryRun): string[] {
  const { total, endpoints, oldest_at: oldest, by_endpoint: of, by_outcome: outcomes } = counts;
  const made = `${counts.is_estimate ? 'about ' : ''}${deliveries(counts.deliveries)}`;
  const what = type === 'batch_replay' ? `${counted(total, 'event')}, as ${made}` : made;
  if (total === 0) return [`would be ${done}: nothing`];
  const since = oldest === null ? '' : `; the oldest was created ${shownTime(oldest)}`;
  const width = Math.max(0, ...of.slice(0, NAMED).map(({ name }) => name.length));
  return [
    `would be ${done}: ${what} to ${counted(endpoints, 'endpoint')}${since}`,
    ...of.slice(0, NAMED).map(({ name, count }) => `  ${name.padEnd(width)}  ${count}`),
    ...(endpoints > NAMED ? [`  and ${counted(endpoints - NAMED, 'more endpoint')}`] : []),
    ...(outcomes.length === 0
      ? []
      : [`last results: ${outcomes.map(({ outcome, count }) => `${outcome} ${count}`).join(', ')}`]),
  ];
}

async function follow(posthorn: Posthorn, started: Job, done: string): Promise<number> {
  const job = await posthorn.jobs.wait(started, { onProgress: showProgress });
  endProgress();
  if (job.status !== 'completed')
    throw new StartupError(
      `the job ${job.uid} is ${job.status} after ${job.done}: ${job.error || 'no reason given'}`,
    );
  const to = job.endpoints === null ? '' : ` to ${counted(job.endpoints, 'endpoint')}`;
  line(`${done}: ${job.done}${to}${job.failed === 0 ? '' : `, failed: ${job.failed}`} (job ${job.uid})`);
  return job.failed === 0 ? EXIT.done : EXIT.failed;
}
