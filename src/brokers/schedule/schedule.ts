import type { ScheduleSettings } from '../../domain/config/source.ts';
import { parseCron } from '../../platform/time/cron.ts';
import { timeZone } from '../../platform/time/time-zone.ts';
import { Timetable } from '../../platform/time/timetable.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { BrokerModule, ConsumerContext } from '../module/broker-module.ts';

/**
 * A schedule: each of its times is a message of an ordered stream, whose position is the time. Every node stores it, and
 * the position makes it one event, in the same commit. After a time without a node the last time that was missed is
 * stored, and the ones before it are not.
 */
const STREAM = 'schedule';
/** The clock may be set meanwhile. */
const LONGEST_WAIT_MS = 30_000;

export const schedule: BrokerModule<'schedule'> = {
  consume: ({ schedule: own }, context) => run(own, context),
  test: async ({ schedule: own }) => void timetableOf(own),
  worded: (error) => error as Error,
};

async function run(settings: ScheduleSettings, context: ConsumerContext): Promise<void> {
  const { signal, clock, streams, source } = context;
  const timetable = timetableOf(settings);
  const stored = await streams.position({ sourceId: source.id, stream: STREAM });
  let after = Math.max(Date.parse(settings.since), stored === '' ? 0 : Date.parse(stored));
  context.connected();
  while (!signal.aborted) {
    const due = timetable.latest(after, clock.now());
    if (due !== null) {
      const at = new Date(due).toISOString();
      await context.store({ stream: STREAM, order: 'ordered' }, [{ key: at, ...message(settings, at) }]);
      after = due;
    }
    const now = clock.now();
    await pause(context, Math.min(LONGEST_WAIT_MS, (timetable.next(now) ?? Number.POSITIVE_INFINITY) - now));
  }
}

function timetableOf({ cron, time_zone }: ScheduleSettings): Timetable {
  const times = parseCron(cron);
  const zone = timeZone(time_zone);
  if (typeof times === 'string') throw new BrokerError(`The cron expression cannot be used: ${times}.`);
  if (zone === null) throw new BrokerError(`This node does not know the time zone ${time_zone}.`);
  return new Timetable(times, zone);
}

function message({ event_type, data }: ScheduleSettings, at: string) {
  const custom_headers = { 'X-Posthorn-Scheduled-At': at };
  const body = Buffer.from(
    JSON.stringify({ event_type, data: data ?? { scheduled_at: at }, custom_headers }),
  );
  return { body, headers: {}, id: null };
}

function pause({ clock, signal }: ConsumerContext, ms: number): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = clock.after(ms, done);
    function done(): void {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
