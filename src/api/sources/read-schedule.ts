import type { ScheduleSettings } from '../../domain/config/source.ts';
import { parseCron } from '../../platform/time/cron.ts';
import { timeZone } from '../../platform/time/time-zone.ts';
import { Timetable } from '../../platform/time/timetable.ts';
import type { Problems } from '../http/problems.ts';

const MAX_DATA_BYTES = 65_536;

/** Settings of a source that sends an event at the times of a cron expression, complete and with a next time. */
export function readSchedule(
  given: Partial<ScheduleSettings>,
  { known, nowMs }: { known: ScheduleSettings | null; nowMs: number },
  problems: Problems,
): ScheduleSettings {
  const cron = problems.text('schedule.cron', given.cron).trim();
  const event_type = problems.text('schedule.event_type', given.event_type);
  const time_zone = given.time_zone || 'UTC';
  const data = given.data ?? null;
  checkTimes({ cron, time_zone }, nowMs, problems);
  if (Buffer.byteLength(JSON.stringify(data)) > MAX_DATA_BYTES)
    problems.add('schedule.data', `is larger than ${MAX_DATA_BYTES} bytes`);
  const isSame = known?.cron === cron && known.time_zone === time_zone;
  const since = isSame ? known.since : new Date(nowMs).toISOString();
  return { cron, time_zone, event_type, data, since };
}

function checkTimes(
  { cron, time_zone }: Pick<ScheduleSettings, 'cron' | 'time_zone'>,
  nowMs: number,
  problems: Problems,
): void {
  const zone = timeZone(time_zone);
  if (zone === null)
    problems.add('schedule.time_zone', 'is no time zone of the IANA database, such as Europe/Berlin');
  if (cron === '') return;
  const times = parseCron(cron);
  if (typeof times === 'string') problems.add('schedule.cron', times);
  else if (zone !== null && new Timetable(times, zone).next(nowMs) === null)
    problems.add('schedule.cron', 'it has no time in the next nine years');
}

/** Times that passed while a source was disabled are not sent when it is enabled. */
export function enabledSince(
  schedule: ScheduleSettings | null,
  { was, is, nowMs }: { was: boolean; is: boolean; nowMs: number },
): ScheduleSettings | null {
  const isEnabled = was && !is;
  return schedule !== null && isEnabled ? { ...schedule, since: new Date(nowMs).toISOString() } : schedule;
}
