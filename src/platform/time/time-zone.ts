/** The offsets of one time zone of the IANA database, as this runtime knows it. */
const DAY_MS = 86_400_000;

export interface TimeZone {
  /** How far its clocks are ahead of UTC at an instant. */
  offsetMs(atMs: number): number;
}

/** Null: there is no such zone. */
export function timeZone(name: string): TimeZone | null {
  const format = formatOf(name);
  return format && { offsetMs: (atMs) => wallMs(format, atMs) - Math.floor(atMs / 1000) * 1000 };
}

function formatOf(timeZoneName: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: timeZoneName,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return null;
  }
}

/** The reading of the zone's clocks, as if it were UTC. */
function wallMs(format: Intl.DateTimeFormat, atMs: number): number {
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
}

/** The midnight, as if it were UTC, of the day that the zone's clocks show. */
export const localDay = (zone: TimeZone, atMs: number): number =>
  Math.floor((atMs + zone.offsetMs(atMs)) / DAY_MS) * DAY_MS;
