import type { ErrorCode, ErrorOutcome, ResponseOutcome } from '../../../src/dispatch/connection/outcome.ts';

const exchange = { address: '127.0.0.1', certificates: null, timings: { totalMs: 5 }, startedMs: 0 };

export function answered(status: number, headers: Record<string, string[]> = {}): ResponseOutcome {
  const body = Buffer.from('answer');
  return {
    ...exchange,
    kind: 'response',
    status,
    statusText: `${status} Some`,
    headers,
    body,
    truncated: false,
  };
}

export function unanswered(code: ErrorCode, fields: Partial<ErrorOutcome> = {}): ErrorOutcome {
  return { ...exchange, kind: 'error', code, message: 'It broke', ours: false, dropped: false, ...fields };
}
