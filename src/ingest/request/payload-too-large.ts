import { AppError } from '../../domain/errors.ts';

/** Over the limit of the project, not over that of the instance. */
export function payloadTooLarge(limit: number): AppError {
  const setting = 'max_payload_read_size of the project';
  return new AppError('body_too_large', { part: 'payload', limit, setting });
}
