const UNITS: [number, Intl.RelativeTimeFormatUnit][] = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
];

/** "vor 3 Min.", "il y a 2 h": a time in words of a language. */
export function relativeIn(locale: string): (at: number, from: number) => string {
  const format = new Intl.RelativeTimeFormat(locale, { style: 'short', numeric: 'auto' });
  return (at, from) => {
    const seconds = (at - from) / 1000;
    const [size, unit] = UNITS.find(([length]) => Math.abs(seconds) >= length) ?? [1, 'second'];
    return format.format(seconds > 0 ? Math.round(seconds / size) : Math.ceil(seconds / size), unit);
  };
}
