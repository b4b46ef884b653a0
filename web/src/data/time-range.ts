/** A time range as typed: "2h", "30m", "14:05-14:20", "2026-11-15 14:05 - 2026-11-15 15:00". Empty: all times. */
export interface TimeRange {
  startDate?: string;
  endDate?: string;
}

const RELATIVE = /^(\d+)\s*(s|m|min|h|d|w)$/;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400, w: 604_800 };
const CLOCK = /^(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})$/;
const FULL = /^(\d{4}-\d{2}-\d{2})[ T](\d{1,2}:\d{2})\s*-\s*(\d{4}-\d{2}-\d{2})[ T](\d{1,2}:\d{2})$/;

/** Whether the text is a range, at any time of day. */
export const isTimeRange = (text: string): boolean => parseTimeRange(text, new Date(0)) !== null;

/** Null if the text is no range. */
export function parseTimeRange(text: string, now: Date, utc = false): TimeRange | null {
  const trimmed = text.trim();
  if (trimmed === '') return {};
  const relative = RELATIVE.exec(trimmed);
  if (relative !== null) {
    const seconds = Number(relative[1]) * (SECONDS[relative[2] ?? ''] ?? 0);
    return { startDate: new Date(now.getTime() - seconds * 1000).toISOString() };
  }
  const clock = CLOCK.exec(trimmed);
  if (clock !== null) {
    const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = clock.slice(1).map(Number);
    const at = (hour: number, minute: number): Date => {
      const time = new Date(now);
      if (utc) time.setUTCHours(hour, minute, 0, 0);
      else time.setHours(hour, minute, 0, 0);
      return time;
    };
    const start = at(fromHour, fromMinute);
    const end = at(toHour, toMinute);
    // A range that has not begun is yesterday's.
    const back = start > now ? 86_400_000 : 0;
    const over = end < start ? 86_400_000 : 0;
    return inOrder(new Date(start.getTime() - back), new Date(end.getTime() - back + over));
  }
  const full = FULL.exec(trimmed);
  if (full === null) return null;
  const zone = utc ? 'Z' : '';
  const read = (day = '', minute = ''): Date => new Date(`${day}T${minute.padStart(5, '0')}:00${zone}`);
  return inOrder(read(full[1], full[2]), read(full[3], full[4]));
}

function inOrder(start: Date, end: Date): TimeRange | null {
  if (Number.isNaN(start.getTime()) || Number.isNaN(end.getTime()) || end < start) return null;
  return { startDate: start.toISOString(), endDate: end.toISOString() };
}
