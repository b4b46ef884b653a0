import type { ErrorOutcome, ResponseOutcome } from '../../dispatch/connection/outcome.ts';
import { finalCodesOf } from '../../domain/config/endpoint.ts';
import { httpOutcome, LANE, type LeasedDelivery, REPORTED_OK } from '../../domain/delivery.ts';
import type { LocalAnswer, PullResult } from '../../domain/pull-service.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { Attempt } from '../../store/attempts/attempt.ts';
import { judgeOutcome } from '../attempt/judge-outcome.ts';
import { back, type Sent } from '../attempt/sent.ts';

/**
 * The outcome of an attempt that a consumer made: what it reported, or that it reported nothing within its lease. It is
 * judged by the same rules as the answer to a request.
 */
interface Context {
  routing: ProjectRouting;
  attemptId: string;
  nowMs: number;
}

const NO_RESULT = 'No result within the lease';
const NO_REASON = 'Its consumer reported a failure';

/** A lease ended. A row that was never handed out goes back untried. */
export function leaseEnded(delivery: LeasedDelivery, context: Context): Sent {
  if (delivery.pulled === null) {
    const lane = delivery.numTrials === 0 ? LANE.first : LANE.retry;
    const key = context.routing.keyOf(delivery.endpointId, delivery.subscriptionId);
    return { ...back(delivery), lane, key };
  }
  return attempted(
    delivery,
    { outcome: failure('no_result', NO_RESULT, delivery, context), url: '' },
    context,
  );
}

/** The failure of a device is not tried again by itself: a person looks at it. */
export function reported(given: LeasedDelivery, report: PullResult, context: Context): Sent {
  const isDevice = context.routing.isDevice(given.endpointId);
  const delivery = isDevice ? { ...given, retry: { ...given.retry, retryLimit: 1 } } : given;
  const { answer } = report;
  const url = answer?.url ?? '';
  const isAnswered = answer !== null && (report.ok || answer.status < 200 || answer.status > 299);
  if (isAnswered || report.ok) {
    const outcome = response(answer, delivery, context);
    return attempted(delivery, { outcome, url, isBare: answer === null }, context);
  }
  const reason = report.reason.replaceAll('\0', '').trim() || NO_REASON;
  return attempted(
    delivery,
    { outcome: failure('reported_failure', reason, delivery, context), url },
    context,
  );
}

function attempted(
  delivery: LeasedDelivery,
  made: { outcome: ResponseOutcome | ErrorOutcome; url: string; isBare?: boolean },
  context: Context,
): Sent {
  const { outcome } = made;
  const endpoint = context.routing.endpoints.get(delivery.endpointId)?.row;
  const judged = judgeOutcome(delivery, outcome, {
    nowMs: context.nowMs,
    random: Math.random(),
    finalCodes: finalCodesOf(endpoint, context.routing.project.config),
  });
  const key = context.routing.keyOf(delivery.endpointId, delivery.subscriptionId);
  const attempt = record(delivery, { ...made, succeeded: judged.verdict === 'success' }, context);
  const exchange = { outcome, requestBytes: delivery.body.length, trace: null };
  return { ...back(delivery), ...judged, key, attempt, exchange };
}

/** `isBare`: reported without an answer, so there is none to show. */
function record(
  delivery: LeasedDelivery,
  made: { outcome: ResponseOutcome | ErrorOutcome; url: string; isBare?: boolean; succeeded: boolean },
  { attemptId, nowMs }: Context,
): Attempt {
  const { outcome, url, succeeded } = made;
  const answer = outcome.kind === 'response' && made.isBare !== true ? outcome : null;
  return {
    id: attemptId,
    url,
    ipAddress: null,
    httpStatus: answer?.statusText ?? null,
    outcome:
      outcome.kind === 'error' ? outcome.code : answer === null ? REPORTED_OK : httpOutcome(answer.status),
    error: outcome.kind === 'error' ? outcome.message : null,
    succeeded,
    requestHeaders: JSON.parse(delivery.pulled?.headers ?? '{}') as Record<string, string>,
    responseHeaders: answer?.headers ?? null,
    responseBody: answer?.body ?? null,
    timings: outcome.timings,
    requestedAtMs: delivery.pulled?.atMs ?? nowMs,
  };
}

const times = ({ pulled }: LeasedDelivery, { nowMs }: Context) => {
  const totalMs = Math.max(0, nowMs - (pulled?.atMs ?? nowMs));
  return {
    timings: { totalMs },
    startedMs: performance.now() - totalMs,
    address: null,
    certificates: null,
  };
};

function failure(
  code: ErrorOutcome['code'],
  message: string,
  delivery: LeasedDelivery,
  context: Context,
): ErrorOutcome {
  return { kind: 'error', code, message, ours: false, dropped: false, ...times(delivery, context) };
}

function response(answer: LocalAnswer | null, delivery: LeasedDelivery, context: Context): ResponseOutcome {
  const base = times(delivery, context);
  return {
    kind: 'response',
    status: answer?.status ?? 200,
    statusText: String(answer?.status ?? ''),
    headers: answer?.headers ?? {},
    body: answer?.body ?? Buffer.alloc(0),
    truncated: false,
    ...base,
    ...(answer !== null && { timings: { totalMs: answer.ms } }),
  };
}
