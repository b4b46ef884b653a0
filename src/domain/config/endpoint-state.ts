import type { Static } from 'typebox';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { formatTime } from '../time.ts';
import { type Breaker, breakerState, CLOSED, halfOpenAt } from './circuit-breaker.ts';
import type { ShownStatus } from './endpoint.ts';
import type { ProjectConfig } from './project-config.ts';

/**
 * The state of an endpoint over the last hour. Health, the resource, pages, the portal, meta events and commands all have
 * it from `endpointState`. Counts are per minute, so times are whole minutes. The worst state comes first.
 */
export const endpointStates = ['failing', 'disabled', 'degraded', 'held', 'recovered', 'ok'] as const;
type EndpointState = (typeof endpointStates)[number];

/** The failed attempts of the last hour, and what succeeded between and after them. */
interface Trouble {
  first_failed: number;
  last_failed: number;
  failed: number;
  /** Attempts that succeeded after the first minute with a failure and before the last one. */
  meanwhile: number;
  /** The first minute with a success after the last one with a failure. Null: nothing has succeeded since. */
  since: number | null;
  succeeded: number;
}

/** The facts of an endpoint that its state depends on. */
export interface Standing {
  breaker: Breaker;
  /** Null: no attempt failed. */
  trouble: Trouble | null;
  /** Since when every attempt failed, of the last two days. Null: the last one succeeded, or there was none. */
  failingSince: number | null;
  /** Known where the endpoint may be failing. */
  lastSuccess: number | null;
  /** A delivery that was tried waits to be tried again. */
  isWaiting: boolean;
}

export const UNTRIED: Standing = {
  breaker: CLOSED,
  trouble: null,
  failingSince: null,
  lastSuccess: null,
  isWaiting: false,
};

const Time = Type.String({ format: 'date-time' });

/** The state as responses and meta events have it. */
export const stateFields = {
  state: oneOf(
    endpointStates,
    'How it does, over the last hour. `disabled`: it is inactive. `held`: it is paused or pending. `failing`: nothing has succeeded since the last failure, or the circuit breaker is not closed. `recovered`: attempts failed, and since the last failure ten have succeeded, or one, a minute has passed and no delivery waits for a retry; not if at least half of the attempts failed before and others succeeded between. `degraded`: other attempts that fail. `ok`: none failed.',
  ),
  failing_since: nullable(
    Time,
    'While it is `failing`: the minute since which every attempt failed. While it is `degraded`: the first minute of the last hour in which one failed.',
  ),
  recovered_at: nullable(
    Time,
    'The minute of the first success since its last failure, while it is `recovered`.',
  ),
  sent_since: Type.Integer({ description: 'Successful attempts since `recovered_at`.' }),
  held_by: oneOf(
    ['', 'circuit_breaker', 'paused', 'pending'],
    'The gate that holds all of its deliveries. Empty: none.',
  ),
  held_until: nullable(Time, 'When the open circuit breaker sends a probe. Else null.'),
};
export type ShownState = { [Name in keyof typeof stateFields]: Static<(typeof stateFields)[Name]> };

interface Moment {
  settings: ProjectConfig['circuit_breaker'];
  nowMs: number;
}

export function endpointState(
  status: ShownStatus,
  standing: Standing,
  { settings, nowMs }: Moment,
): ShownState {
  const { breaker, trouble, failingSince } = standing;
  const state = stateOf(status, standing, nowMs);
  const isOpen = breaker.state === 'open' && state === 'failing';
  const recovered = state === 'recovered' ? trouble : null;
  const failing = state === 'failing' ? failingSince : state === 'degraded' ? trouble?.first_failed : null;
  return {
    state,
    failing_since: time(failing ?? null),
    recovered_at: time(recovered?.since ?? null),
    sent_since: recovered?.succeeded ?? 0,
    held_by: status === 'paused' || status === 'pending' ? status : isOpen ? 'circuit_breaker' : '',
    held_until:
      isOpen && breakerState(breaker, settings, nowMs) === 'open'
        ? time(halfOpenAt(breaker, settings))
        : null,
  };
}

const time = (ms: number | null) => (ms === null ? null : formatTime(ms));

function stateOf(status: ShownStatus, standing: Standing, nowMs: number): EndpointState {
  const { breaker, trouble, failingSince, isWaiting } = standing;
  if (status === 'inactive') return 'disabled';
  if (status !== 'active') return 'held';
  const hasFailed = failingSince !== null && (trouble !== null || isWaiting);
  if (breaker.state !== 'closed' || hasFailed) return 'failing';
  if (trouble === null) return 'ok';
  return hasRecovered(trouble, isWaiting, nowMs) ? 'recovered' : 'degraded';
}

const MINUTE_MS = 60_000;
/** So many successes in a row end a trouble at once. */
const ENOUGH = 10;

/** Successes in the minute of the last failure may be older than it, so they do not count. */
function hasRecovered(trouble: Trouble, isWaiting: boolean, nowMs: number): boolean {
  const { last_failed, failed, meanwhile, since, succeeded } = trouble;
  const isFlapping = meanwhile > 0 && failed >= meanwhile;
  const isOver = !isWaiting && !isFlapping && nowMs - (last_failed + MINUTE_MS) > MINUTE_MS;
  return since !== null && (succeeded >= ENOUGH || isOver);
}
