import type { ErrorCode } from '../../domain/delivery.ts';
import { AppError } from '../../domain/errors.ts';

/** An error of a broker: a sentence for the owner of the source or endpoint, and the word for filters. */
export class BrokerError extends Error {
  readonly code: ErrorCode;

  constructor(message: string, { code = 'broker_refused', ...options }: BrokerErrorOptions = {}) {
    super(message, options);
    this.code = code;
  }
}

interface BrokerErrorOptions extends ErrorOptions {
  code?: ErrorCode;
}

/** The word and the sentence of a known error. */
export type Reason = readonly [code: ErrorCode, text: string];

export const brokerError = ([code, text]: Reason, cause: unknown): BrokerError =>
  new BrokerError(text, { code, cause });

/** An error and the errors that it is made of. */
export function* nestedErrors<E extends Error>(error: E): Generator<E> {
  yield error;
  if (error.cause instanceof Error) yield* nestedErrors(error.cause as E);
  for (const one of (error as { errors?: E[] }).errors ?? []) yield* nestedErrors(one);
}

/**
 * Words an error of a client. One of ours among `parts`, the errors that it is made of, has its words. `reasonOf` knows
 * the client. Undefined: the error says nothing that it knows, and stays as it is.
 */
export function worded<E extends Error & { code?: unknown }>(
  error: unknown,
  reasonOf: (parts: readonly E[]) => Reason | undefined,
  parts: readonly E[] = [...nestedErrors(error as E)],
): Error {
  const own = parts.find((one) => one instanceof BrokerError);
  if (own !== undefined) return own;
  const reason = reasonOf(parts);
  return reason === undefined ? (error as Error) : brokerError(reason, error);
}

/** Only errors that were written for the owner are shown to the owner. */
export function reasonOf(error: unknown): string {
  return error instanceof BrokerError || error instanceof AppError
    ? error.message
    : 'The source failed for a reason that is in the log.';
}
