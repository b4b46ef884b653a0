import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';

/**
 * Decodes a compressed response and stops at `maxBytes` of output, so a small body that unpacks to gigabytes
 * costs no more than the bound. The input may end early (it is itself cut at the bound). A response that does
 * not decode, or has an unknown encoding, is kept as received, because only its status line counts.
 */

export interface DecodedBody {
  body: Buffer;
  truncated: boolean;
}

type Decoder = ReturnType<typeof createGunzip>;

export async function decodeBody(input: Buffer, encoding: string, maxBytes: number): Promise<DecodedBody> {
  const decoder = decoderFor(encoding.trim().toLowerCase(), input);
  if (decoder === null) return { body: input, truncated: false };
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    decoder.end(input);
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) break;
    }
  } catch {
    if (bytes === 0) return { body: input, truncated: false };
  }
  const body = Buffer.concat(chunks, bytes);
  return bytes > maxBytes
    ? { body: Buffer.from(body.subarray(0, maxBytes)), truncated: true }
    : { body, truncated: false };
}

function decoderFor(encoding: string, input: Buffer): Decoder | null {
  const zlibOptions = { finishFlush: constants.Z_SYNC_FLUSH };
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(zlibOptions);
    case 'deflate':
      // Many servers send raw deflate under this name. A zlib header has 8 in its low nibble.
      return (input[0]! & 0x0f) === 8 ? createInflate(zlibOptions) : createInflateRaw(zlibOptions);
    case 'br':
      return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
    case 'zstd':
      return createZstdDecompress({ finishFlush: constants.ZSTD_e_flush });
    default:
      return null;
  }
}
