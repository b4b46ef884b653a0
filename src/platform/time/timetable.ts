import type { CronTimes } from './cron.ts';
import { localDay, type TimeZone } from './time-zone.ts';

/**
 * The instants of a cron expression in a time zone. Where clocks are put forward or back:
 *
 *   a time of the day that is skipped      -> the first moment after the gap
 *   a time of the day that comes twice     -> the first of the two
 *   an hour field that begins with `*`     -> every instant whose time matches: none in a gap, both of two
 */
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Over eight years there is a 29 February, also around the year 2100. */
const MAX_DAYS = 366 * 9;
/** The local day of any zone lies within these of the same day of UTC. */
const EARLY_MS = 15 * HOUR_MS;
const LATE_MS = 39 * HOUR_MS;

export class Timetable {
  readonly #cron: CronTimes;
  readonly #zone: TimeZone;

  constructor(cron: CronTimes, zone: TimeZone) {
    this.#cron = cron;
    this.#zone = zone;
  }

  /** The first instant after this one. Null: there is none in the next years. */
  next(afterMs: number): number | null {
    const first = localDay(this.#zone, afterMs) - DAY_MS;
    for (let n = 0; n < MAX_DAYS; n += 1) {
      const found = this.#instants(first + n * DAY_MS).filter((instant) => instant > afterMs);
      if (found.length > 0) return Math.min(...found);
    }
    return null;
  }

  /** The last instant after one and up to another. Null: there is none. */
  latest(afterMs: number, upToMs: number): number | null {
    const last = localDay(this.#zone, upToMs) + DAY_MS;
    const end = Math.max(localDay(this.#zone, afterMs) - DAY_MS, last - MAX_DAYS * DAY_MS);
    for (let day = last; day >= end; day -= DAY_MS) {
      const found = this.#instants(day).filter((instant) => instant > afterMs && instant <= upToMs);
      if (found.length > 0) return Math.max(...found);
    }
    return null;
  }

  /** The instants of a local day, named by its midnight as if it were UTC. */
  #instants(day: number): number[] {
    const date = new Date(day);
    const named = { month: date.getUTCMonth() + 1, date: date.getUTCDate(), weekday: date.getUTCDay() };
    if (!this.#cron.isDay(named)) return [];
    const { hours, minutes } = this.#cron;
    const times = hours.flatMap((hour) => minutes.map((minute) => day + hour * HOUR_MS + minute * MINUTE_MS));
    const [before, after] = [this.#zone.offsetMs(day - EARLY_MS), this.#zone.offsetMs(day + LATE_MS)];
    if (before === after) return times.map((time) => time - before);
    return times.flatMap((time) => this.#aroundChange(time, before, after));
  }

  /** The instants at which clocks show a time, near a change of the offset. */
  #aroundChange(time: number, before: number, after: number): number[] {
    const shown = [time - before, time - after].filter(
      (instant) => instant + this.#zone.offsetMs(instant) === time,
    );
    if (this.#cron.isHourly) return shown;
    if (shown.length > 0) return [Math.min(...shown)];
    return [this.#change(time - after, time - before)];
  }

  /** The instant of the change between the two, to the second. */
  #change(from: number, to: number): number {
    const old = this.#zone.offsetMs(from);
    let [low, high] = [from, to];
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000;
      if (this.#zone.offsetMs(middle) === old) low = middle;
      else high = middle;
    }
    return high;
  }
}
