import { createContext, useContext } from 'react';
import { useNow } from './clock.ts';
import { useUiWords } from './words.ts';

export { useNow } from './clock.ts';
export { length, relative, span } from './words.ts';

/** How times are shown: how long ago or exact, in the reader's zone or UTC. */
export interface TimeStyle {
  exact: boolean;
  utc: boolean;
}
export const TimeStyleContext = createContext<TimeStyle>({ exact: false, utc: false });

/** "15 Nov 14:05:09.123 UTC". */
export function exactTime(at: number, utc: boolean, locale = 'en-GB'): string {
  const time = new Date(at);
  const options: Intl.DateTimeFormatOptions = {
    day: 'numeric',
    month: 'short',
    ...(time.getFullYear() === new Date().getFullYear() ? {} : { year: 'numeric' }),
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
    timeZoneName: 'short',
    ...(utc ? { timeZone: 'UTC' } : {}),
  };
  return new Intl.DateTimeFormat(locale, options).format(time).replace(',', '');
}

/** "14:05:09 CET", in the reader's zone. */
export const clockTime = (at: number, locale: string): string =>
  new Intl.DateTimeFormat(locale, { timeStyle: 'long', hourCycle: 'h23' }).format(at);

export function Time({ at, none = '–' }: { at: string | null | undefined; none?: string }) {
  const style = useContext(TimeStyleContext);
  const from = useNow();
  const words = useUiWords();
  if (at === null || at === undefined || at === '') return <span className="text-muted">{none}</span>;
  const ms = Date.parse(at);
  const exact = exactTime(ms, style.utc, words.locale);
  return (
    <time dateTime={at} title={exact} className="whitespace-nowrap">
      {style.exact ? exact : words.relative(ms, from)}
    </time>
  );
}
