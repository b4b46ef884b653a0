/**
 * Shortens the values in which attempts differ: times near the attempt's own, digests in hexadecimal, the id of the
 * delivery. A `~` begins a short form, and a `~` of the text is doubled, so every text reads as it was.
 *
 * ~i          the id of the delivery
 * ~t3;        a Unix time in seconds, 3 after that of the attempt
 * ~d-1;       the same as an HTTP date
 * ~h...       32 bytes in hexadecimal, as 43 characters
 * ~u...       a UUID, as 22 characters
 */
export interface Known {
  deliveryId: string;
  /** The time in the attempt's id, which is exact wherever it is read. */
  atSeconds: number;
}

const LONG =
  /~|(?<!\d)\d{10}(?!\d)|(?<![\da-f])[\da-f]{64}(?![\da-f])|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[0-9A-Z]{26}/g;
const SHORT = /~(~|i|[td]-?\d+;|h[\w-]{43}|u[\w-]{22})/g;
/** Clocks of endpoints differ. A time that is further away is no time of this attempt. */
const NEAR_SECONDS = 99_999;

export function shortened(text: string, known: Known): string {
  // The most frequent ones need no search.
  if (text === known.deliveryId) return '~i';
  if (text === lastDate.text) return nearTime('d', lastDate.seconds - known.atSeconds) ?? text;
  return text.replace(LONG, (found) => shortForm(found, known) ?? found);
}

/** Answers of one second have one date, and reading it takes longer than all else here. */
let lastDate = { text: '', seconds: 0 };

function shortForm(found: string, { deliveryId, atSeconds }: Known): string | undefined {
  switch (found.length) {
    case 1:
      return '~~';
    case 10:
      return nearTime('t', Number(found) - atSeconds);
    case 26:
      return found === deliveryId ? '~i' : undefined;
    case 29: {
      const seconds = Date.parse(found) / 1000;
      if (new Date(seconds * 1000).toUTCString() !== found) return undefined;
      lastDate = { text: found, seconds };
      return nearTime('d', seconds - atSeconds);
    }
    case 36:
      return `~u${asBase64(found.replaceAll('-', ''))}`;
    default:
      return `~h${asBase64(found)}`;
  }
}

const nearTime = (kind: string, seconds: number) =>
  Math.abs(seconds) <= NEAR_SECONDS ? `~${kind}${seconds};` : undefined;
const asBase64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64url');
const asHex = (base64: string) => Buffer.from(base64, 'base64url').toString('hex');

export function lengthened(text: string, known: Known): string {
  return text.replace(SHORT, (_, short: string) => longForm(short[0] as string, short.slice(1), known));
}

function longForm(kind: string, rest: string, { deliveryId, atSeconds }: Known): string {
  switch (kind) {
    case '~':
      return '~';
    case 'i':
      return deliveryId;
    case 't':
      return String(atSeconds + Number(rest.slice(0, -1)));
    case 'd':
      return new Date((atSeconds + Number(rest.slice(0, -1))) * 1000).toUTCString();
    case 'u':
      return asHex(rest).replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    default:
      return asHex(rest);
  }
}
