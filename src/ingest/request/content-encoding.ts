/**
 * Decodes Content-Encoding. Inflation runs on zlib's own threads and stops at the bound. A bomb costs at most
 * `maxBytes` of output per coding, and at most three codings are allowed.
 */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';

type ContentDecoding =
  | { kind: 'decoded'; bytes: Buffer }
  | { kind: 'too_large' }
  | { kind: 'bad_encoding'; message: string };

type Inflate = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const inflateGzip: Inflate = promisify(gunzip);
const inflateZlib: Inflate = promisify(inflate);
const inflateBare: Inflate = promisify(inflateRaw);

/** `deflate` means the zlib format, but some senders omit its two-byte header. */
const inflateDeflate: Inflate = (bytes, options) => {
  const [first = 0, second = 0] = bytes;
  const hasHeader = (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
  return hasHeader ? inflateZlib(bytes, options) : inflateBare(bytes, options);
};

const inflaters: ReadonlyMap<string, Inflate> = new Map([
  ['gzip', inflateGzip],
  ['x-gzip', inflateGzip],
  ['deflate', inflateDeflate],
  ['br', promisify(brotliDecompress)],
]);

const maxCodings = 3;

/** The codings of a header in the order they were applied, without `identity`. */
export function contentCodings(headerValues: readonly string[]): string[] {
  const codings = headerValues.join(',').split(',');
  return codings.map((coding) => coding.trim().toLowerCase()).filter((c) => c !== '' && c !== 'identity');
}

export async function decodeContent(
  raw: Buffer,
  codings: readonly string[],
  maxBytes: number,
): Promise<ContentDecoding> {
  if (codings.length > maxCodings) {
    return { kind: 'bad_encoding', message: `more than ${maxCodings} content codings` };
  }
  let bytes = raw;
  for (const coding of codings.toReversed()) {
    const inflater = inflaters.get(coding);
    if (inflater === undefined) {
      return { kind: 'bad_encoding', message: `the content coding ${JSON.stringify(coding)} is not known` };
    }
    try {
      bytes = await inflater(bytes, { maxOutputLength: Math.max(maxBytes, 1) });
    } catch (error) {
      return decodingFailure(error, coding);
    }
  }
  return bytes.length > maxBytes ? { kind: 'too_large' } : { kind: 'decoded', bytes };
}

/** zlib reports bad input as an error with a code. Any other error is a bug and is rethrown. */
function decodingFailure(error: unknown, coding: string): ContentDecoding {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ERR_BUFFER_TOO_LARGE') return { kind: 'too_large' };
  if (typeof code !== 'string' || code === 'Z_MEM_ERROR') throw error;
  return { kind: 'bad_encoding', message: `the body is not valid ${coding}` };
}
