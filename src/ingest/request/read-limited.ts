import { AppError } from '../../domain/errors.ts';

/** Over the limit of the project, not over that of the instance. */
export function payloadTooLarge(limit: number): AppError {
  const setting = 'max_payload_read_size of the project';
  return new AppError('body_too_large', { part: 'payload', limit, setting });
}

/** The whole request body. It is refused as soon as it exceeds the limit, with or without a declared length. */
export async function readLimited(
  stream: AsyncIterable<Buffer>,
  limit: number,
  declaredLength: string | undefined,
): Promise<Buffer> {
  if (Number(declaredLength) > limit) throw payloadTooLarge(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > limit) throw payloadTooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}
