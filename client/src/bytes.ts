type Bytes = Uint8Array<ArrayBuffer>;

export function utf8Bytes(text: string): Bytes {
  return new TextEncoder().encode(text);
}

/** Undefined unless it is padded base64 without further characters. */
export function base64Bytes(text: string): Bytes | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const characters = atob(text);
  if (btoa(characters) !== text) return undefined;
  return Uint8Array.from(characters, (character) => character.charCodeAt(0));
}

export function hexBytes(text: string): Bytes | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function joinedBytes(parts: readonly Uint8Array[]): Bytes {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

type Source = { body: ReadableStream<Uint8Array> | string | Uint8Array | ArrayBuffer | null };

/** The bytes of a body. Undefined if a stream has more than `maxBytes`; the rest is not read. */
export async function readBytes({ body }: Source, maxBytes: number): Promise<Bytes | undefined> {
  if (body === null) return new Uint8Array(0);
  if (typeof body === 'string') return utf8Bytes(body);
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return new Uint8Array(body);
  if (!(body instanceof ReadableStream))
    throw new TypeError('The body must be the unparsed bytes or text of the request.');
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      await reader.cancel();
      return undefined;
    }
    chunks.push(value);
  }
  return joinedBytes(chunks);
}
