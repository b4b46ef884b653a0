import { describe, expect, it } from 'vitest';
import { type CronTimes, parseCron } from './cron.ts';
import { timeZone } from './time-zone.ts';
import { Timetable } from './timetable.ts';

function timetable(cron: string, zone = 'UTC'): Timetable {
  const known = timeZone(zone);
  if (known === null) throw new Error(`no zone ${zone}`);
  return new Timetable(parseCron(cron) as CronTimes, known);
}

/** The next times, as text. */
function next(cron: string, from: string, { zone = 'UTC', count = 3 } = {}): string[] {
  const times = timetable(cron, zone);
  const found: string[] = [];
  for (let at = Date.parse(from); found.length < count; ) {
    const one = times.next(at);
    if (one === null) break;
    found.push(new Date(one).toISOString().replace(':00.000Z', 'Z'));
    at = one;
  }
  return found;
}

describe('cron expressions', () => {
  it.each([
    ['*/20 * * * *', ['2026-11-17T10:20Z', '2026-11-17T10:40Z', '2026-11-17T11:00Z']],
    ['5/25 * * * *', ['2026-11-17T10:05Z', '2026-11-17T10:30Z', '2026-11-17T10:55Z']],
    ['0 9 * * mon-fri', ['2026-11-18T09:00Z', '2026-11-19T09:00Z', '2026-11-20T09:00Z']],
    ['0 0 * * 7', ['2026-11-22T00:00Z', '2026-11-29T00:00Z', '2026-12-06T00:00Z']],
    ['30 6,18 1 JAN *', ['2027-01-01T06:30Z', '2027-01-01T18:30Z', '2028-01-01T06:30Z']],
    ['0 0 29 2 *', ['2028-02-29T00:00Z', '2032-02-29T00:00Z', '2036-02-29T00:00Z']],
    ['0 0 13 * fri', ['2026-11-20T00:00Z', '2026-11-27T00:00Z', '2026-12-04T00:00Z']],
    ['0 0 */10 * fri', ['2026-12-11T00:00Z', '2027-01-01T00:00Z', '2027-05-21T00:00Z']],
    ['@monthly', ['2026-12-01T00:00Z', '2027-01-01T00:00Z', '2027-02-01T00:00Z']],
    ['0 0 30 2 *', []],
  ])('%s', (cron, times) => {
    expect(next(cron, '2026-11-17T10:00:00Z')).toEqual(times);
  });

  it('finds 29 February over the year 2100, which has none', () => {
    expect(next('0 0 29 2 *', '2096-03-01T00:00:00Z', { count: 1 })).toEqual(['2104-02-29T00:00Z']);
  });

  it.each([
    ['', 'five fields'],
    ['* * * *', 'five fields'],
    ['* * * * * *', 'five fields'],
    ['60 * * * *', 'the minute cannot be read: 60'],
    ['* 24 * * *', 'the hour cannot'],
    ['* * 0 * *', 'day of the month'],
    ['* * * 13 *', 'the month cannot'],
    ['* * * * 8', 'day of the week'],
    ['*/0 * * * *', 'minute'],
    ['5-1 * * * *', 'minute'],
    ['1,,2 * * * *', 'minute'],
    ['-1 * * * *', 'minute'],
    ['1.5 * * * *', 'minute'],
    ['foo * * * *', 'minute'],
    ['* * * mon *', 'month'],
    ['@often', 'five fields'],
    ['*'.repeat(257), 'longer than 256'],
  ])('%j is refused with the place', (cron, problem) => {
    expect(parseCron(cron)).toContain(problem);
  });

  it('knows zones of the IANA database only', () => {
    expect(['UTC', 'Europe/Berlin', 'Asia/Kolkata'].map((name) => timeZone(name) !== null)).toEqual([
      true,
      true,
      true,
    ]);
    for (const name of ['', 'Mars/Olympus', 'Europe Berlin', '\0']) expect(timeZone(name)).toBeNull();
  });
});

// Berlin: +1 in winter, +2 from 29 March 2026 01:00 UTC (02:00 does not exist) to 25 October 01:00 UTC (02:00 comes twice).
describe('changes of the clocks', () => {
  const zone = 'Europe/Berlin';

  it('a time that is skipped comes at the first moment after the gap, once', () => {
    expect(next('30 2 * * *', '2026-03-28T00:00:00Z', { zone })).toEqual([
      '2026-03-28T01:30Z',
      '2026-03-29T01:00Z',
      '2026-03-30T00:30Z',
    ]);
    // Four times in the gap are one moment.
    expect(next('*/15 2 * * *', '2026-03-28T01:40:00Z', { zone })).toEqual([
      '2026-03-28T01:45Z',
      '2026-03-29T01:00Z',
      '2026-03-30T00:00Z',
    ]);
  });

  it('a time that comes twice is sent at the first', () => {
    expect(next('30 2 * * *', '2026-10-24T12:00:00Z', { zone })).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-26T01:30Z',
      '2026-10-27T01:30Z',
    ]);
  });

  it('an hour field of * means hours that pass', () => {
    expect(next('0 * * * *', '2026-03-28T23:30:00Z', { zone })).toEqual([
      '2026-03-29T00:00Z',
      '2026-03-29T01:00Z',
      '2026-03-29T02:00Z',
    ]);
    expect(next('30 * * * *', '2026-10-24T23:45:00Z', { zone })).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-25T01:30Z',
      '2026-10-25T02:30Z',
    ]);
  });

  it('holds for half hours, zones far from UTC, and zones without a change', () => {
    // Lord Howe moves by half an hour: 02:00 to 02:30 does not exist on 4 October 2026.
    expect(next('15 2 * * *', '2026-10-03T00:00:00Z', { zone: 'Australia/Lord_Howe', count: 2 })).toEqual([
      '2026-10-03T15:30Z',
      '2026-10-04T15:15Z',
    ]);
    expect(next('0 0 * * *', '2026-11-17T00:00:00Z', { zone: 'Pacific/Kiritimati', count: 1 })).toEqual([
      '2026-11-17T10:00Z',
    ]);
    expect(next('45 5 * * *', '2026-11-17T00:00:00Z', { zone: 'Asia/Kathmandu', count: 1 })).toEqual([
      '2026-11-18T00:00Z',
    ]);
  });

  it('the latest time is one of the next times, also around the changes', () => {
    for (const cron of ['30 2 * * *', '30 * * * *', '*/15 2 * * *'])
      for (const from of ['2026-03-28T20:00:00Z', '2026-10-24T20:00:00Z']) {
        const times = timetable(cron, zone);
        const start = Date.parse(from);
        for (let at = start, last: number | null = null, hours = 1; hours < 36; hours += 1) {
          for (
            let one = times.next(at);
            one !== null && one <= start + hours * 3_600_000;
            one = times.next(at)
          ) {
            at = one;
            last = one;
          }
          expect(times.latest(start, start + hours * 3_600_000)).toBe(last);
        }
      }
  });

  it('there is no latest time before the first', () => {
    const noon = Date.parse('2026-11-17T12:00:00Z');
    expect(timetable('0 12 * * *').latest(noon, noon + 3_600_000)).toBeNull();
    expect(timetable('0 12 * * *').latest(noon - 1, noon)).toBe(noon);
    expect(timetable('0 12 * * *').latest(0, noon + 1)).toBe(noon);
  });
});
