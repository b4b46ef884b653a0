// Go duration text ("1h30m", "1.5s"), used by configuration and API fields. The arithmetic is in whole
// nanoseconds, Go's unit, within 64 bits. A text that Go refuses is refused here too.

const nsPerMs = 1_000_000n;

const nsPerUnit = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['\u00b5s', 1_000n],
  ['\u03bcs', 1_000n],
  ['ms', nsPerMs],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);

const maxNs = 2n ** 63n - 1n;
const minNs = -(2n ** 63n);

// Enough for every nanosecond of an hour. Further digits of a fraction have no effect.
const fractionDigits = 18;

/** Milliseconds, with a fraction if the text is finer. Null when Go would refuse the text. */
export function parseGoDuration(text: string): number | null {
  const signed = text.startsWith('-') || text.startsWith('+');
  const magnitude = signed ? text.slice(1) : text;
  if (magnitude === '0') return 0;
  const magnitudeNs = parseTerms(magnitude);
  if (magnitudeNs === null) return null;
  const ns = text.startsWith('-') ? -magnitudeNs : magnitudeNs;
  if (ns > maxNs || ns < minNs) return null;
  // Split so that whole milliseconds stay exact: 63 bits of nanoseconds do not fit a number.
  return Number(ns / nsPerMs) + Number(ns % nsPerMs) / Number(nsPerMs);
}

function parseTerms(text: string): bigint | null {
  const term = /(\d*)(?:\.(\d*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;
  let totalNs = 0n;
  let at = 0;
  while (at < text.length) {
    term.lastIndex = at;
    const match = term.exec(text);
    if (match === null || !/^\.?\d/.test(match[0])) return null;
    const [, padded = '', fraction = '', unit = ''] = match;
    // A number of 20 digits overflows in any unit. Converting thousands of them would cost real time.
    const whole = padded.replace(/^0+/, '');
    if (whole.length > 19) return null;
    const unitNs = nsPerUnit.get(unit)!;
    const digits = fraction.slice(0, fractionDigits);
    totalNs += BigInt(whole) * unitNs + (BigInt(digits) * unitNs) / 10n ** BigInt(digits.length);
    at = term.lastIndex;
  }
  return at === 0 ? null : totalNs;
}

/** As Go prints it: "1h0m0s", "1.5s", "250ms", "0s". Rounds to the nanosecond. */
export function formatGoDuration(ms: number): string {
  const wholeMs = Math.trunc(ms);
  const ns = BigInt(wholeMs) * nsPerMs + BigInt(Math.round((ms - wholeMs) * Number(nsPerMs)));
  return ns < 0n ? `-${formatNs(-ns)}` : formatNs(ns);
}

function formatNs(ns: bigint): string {
  if (ns === 0n) return '0s';
  if (ns < 1_000n) return `${ns}ns`;
  if (ns < nsPerMs) return `${decimal(ns, 3)}\u00b5s`;
  if (ns < 1_000_000_000n) return `${decimal(ns, 6)}ms`;
  const minuteNs = nsPerUnit.get('m')!;
  const seconds = `${decimal(ns % minuteNs, 9)}s`;
  const minutes = ns / minuteNs;
  if (minutes === 0n) return seconds;
  return minutes < 60n ? `${minutes}m${seconds}` : `${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** `value` divided by ten to the `places`, without trailing zeros. */
function decimal(value: bigint, places: number): string {
  const scale = 10n ** BigInt(places);
  const fraction = (value % scale).toString().padStart(places, '0').replace(/0+$/, '');
  return fraction === '' ? `${value / scale}` : `${value / scale}.${fraction}`;
}
