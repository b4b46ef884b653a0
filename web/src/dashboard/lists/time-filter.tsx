import { useContext } from 'react';
import { isTimeRange, parseTimeRange, type TimeRange } from '../../data/time-range.ts';
import { FilterSelect, FilterText } from '../../ui/controls/filter-controls.tsx';
import { TimeStyleContext } from '../../ui/text/time.tsx';

const COMMON = ['15m', '1h', '2h', '24h', '7d'];
const WORDS: Readonly<Record<string, string>> = {
  '15m': 'Last 15 min',
  '1h': 'Last hour',
  '2h': 'Last 2 h',
  '24h': 'Last 24 h',
  '7d': 'Last 7 days',
};

/** "in the last 2 h", for a sentence. */
export const inTime = (time: string): string =>
  WORDS[time] === undefined ? 'in this time' : `in the ${WORDS[time].toLowerCase()}`;

interface Props {
  value: string;
  onChange(value: string): void;
}

/** A time range: one of the common ones, or typed, such as "3h" or "14:05-14:20". It stays relative in the address. */
export function TimeFilter({ value, onChange }: Props) {
  const { utc } = useContext(TimeStyleContext);
  const isTyped = value !== '' && !COMMON.includes(value);
  const zone = utc
    ? 'UTC'
    : (new Intl.DateTimeFormat('en', { timeZoneName: 'short' })
        .formatToParts()
        .find(({ type }) => type === 'timeZoneName')?.value ?? '');
  return (
    <>
      <FilterSelect
        label="Time"
        value={isTyped ? 'typed' : value}
        onChange={(chosen) => onChange(chosen === 'typed' ? '14:05-14:20' : chosen)}
        choices={[
          ['', 'Any time'],
          ...COMMON.map((one) => [one, WORDS[one] ?? one] as const),
          ['typed', 'Custom range'],
        ]}
      />
      {isTyped && <FilterText label={`Time, ${zone}`} value={value} onChange={onChange} />}
      {isTyped && !isTimeRange(value) && (
        <span role="alert" className="text-bad">
          Not a time. Try 3h, 14:05-14:20 or 2026-01-31 14:05 - 2026-01-31 15:00.
        </span>
      )}
    </>
  );
}

/** The range for a call. A text that is no range is none. Rounded, so that a view is not read again each millisecond. */
export function rangeOf(text: string | undefined, utc: boolean): TimeRange {
  const minute = new Date(Math.floor(Date.now() / 60_000) * 60_000);
  return parseTimeRange(text ?? '', minute, utc) ?? {};
}
