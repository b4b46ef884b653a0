import type { ErrorCode } from '../../domain/delivery.ts';

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
