import type { LeasedDelivery } from '../../../src/domain/delivery.ts';
import { back } from '../../../src/engine/attempt/sent.ts';
import type { Finish } from '../../../src/store/queue/finish.ts';

/** The outcome of a request as a node records it. */
export function finishOf(
  delivery: LeasedDelivery,
  attemptId: string,
  status: 'Success' | 'Failure' | 'Retry',
): Finish {
  return {
    ...back(delivery),
    ...(status === 'Retry' ? { status, delayMs: 0 } : { status, delayMs: null }),
    numTrials: 1,
    attempt: {
      id: attemptId,
      url: 'http://127.0.0.1:9/',
      ipAddress: null,
      httpStatus: status === 'Success' ? '200 OK' : null,
      outcome: status === 'Success' ? 'http_200' : 'timeout',
      error: null,
      succeeded: status === 'Success',
      requestHeaders: {},
      responseHeaders: null,
      responseBody: null,
      timings: { totalMs: 1 },
      requestedAtMs: Date.now(),
    },
  };
}
