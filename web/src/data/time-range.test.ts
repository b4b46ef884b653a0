import { describe, expect, it } from 'vitest';
import { parseTimeRange } from './time-range.ts';

const now = new Date('2026-11-15T14:30:00Z');
const read = (text: string) => parseTimeRange(text, now, true);

describe('a typed time range', () => {
  it('is relative', () => {
    expect(read('2h')).toEqual({ startDate: '2026-11-15T12:30:00.000Z' });
    expect(read('30 min')).toEqual({ startDate: '2026-11-15T14:00:00.000Z' });
    expect(read('1d')).toEqual({ startDate: '2026-11-14T14:30:00.000Z' });
  });

  it('is between two times of today', () => {
    expect(read('14:05-14:20')).toEqual({
      startDate: '2026-11-15T14:05:00.000Z',
      endDate: '2026-11-15T14:20:00.000Z',
    });
  });

  it('is of yesterday if it has not begun today', () => {
    expect(read('23:50 - 0:10')).toEqual({
      startDate: '2026-11-14T23:50:00.000Z',
      endDate: '2026-11-15T00:10:00.000Z',
    });
  });

  it('is between two dates', () => {
    expect(read('2026-11-01 9:00 - 2026-11-02 10:30')).toEqual({
      startDate: '2026-11-01T09:00:00.000Z',
      endDate: '2026-11-02T10:30:00.000Z',
    });
  });

  it('may be empty', () => {
    expect(read('  ')).toEqual({});
  });

  it.each(['yesterday', '2', '2026-11-02 10:00 - 2026-11-01 10:00', '2026-13-40 10:00 - 2026-13-41 10:00'])(
    'is not %s',
    (text) => {
      expect(read(text)).toBeNull();
    },
  );
});
