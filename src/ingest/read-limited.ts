import { AppError } from '../domain/errors.ts';

/** The whole of a request body, refused as soon as it is seen to be longer than the limit, however it is sent. */
export async function readLimited(
  stream: AsyncIterable<Buffer>,
  limit: number,
  declaredLength: string | undefined,
): Promise<Buffer> {
  if (Number(declaredLength) > limit) throw new AppError('body_too_large', { limit });
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > limit) throw new AppError('body_too_large', { limit });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}
