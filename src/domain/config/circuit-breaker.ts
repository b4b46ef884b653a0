import type { ProjectConfig } from './project-config.ts';

/**
 * A breaker per endpoint, shared by all nodes.
 *   closed    -> deliveries are sent. Enough attempts in the window, too many of them failed: open.
 *   open      -> deliveries wait. After error_timeout: half-open.
 *   half-open -> one probe at a time. One fails: open again. Enough succeed in a row: closed, and the concurrency
 *                cap, back at one, releases the rest gradually.
 */
export type BreakerState = 'closed' | 'open' | 'half-open';

export interface Breaker {
  state: 'closed' | 'open';
  /** How often it opened without closing in between. */
  trips: number;
  /** Probes that succeeded in a row while open. */
  probes: number;
  changedAtMs: number;
}

type Settings = ProjectConfig['circuit_breaker'];

export const CLOSED: Breaker = { state: 'closed', trips: 0, probes: 0, changedAtMs: 0 };

/** Half-open is an open breaker whose timeout has passed. It needs no write of its own. */
export function breakerState(breaker: Breaker, settings: Settings, nowMs: number): BreakerState {
  if (breaker.state === 'closed') return 'closed';
  return nowMs >= halfOpenAt(breaker, settings) ? 'half-open' : 'open';
}

export function halfOpenAt(breaker: Breaker, settings: Settings): number {
  return breaker.changedAtMs + settings.error_timeout * 1000;
}

/**
 * Whether a probe that a person asks for has to be prepared: the breaker was open then, and either it is not half-open
 * yet, or one success would not close it.
 */
export function needsAsking(
  breaker: Breaker,
  settings: Settings,
  { atMs, nowMs }: { atMs: number; nowMs: number },
): boolean {
  if (breaker.state === 'closed' || breaker.changedAtMs >= atMs) return false;
  return halfOpenAt(breaker, settings) > nowMs || breaker.probes < probesToClose(settings) - 1;
}

/** Whether the attempts in the window open a closed breaker. */
export function opensBreaker(seen: { successes: number; failures: number }, settings: Settings): boolean {
  const attempts = seen.successes + seen.failures;
  if (attempts < settings.minimum_request_count) return false;
  return (100 * seen.failures) / attempts >= settings.failure_threshold;
}

/** Probes that must succeed in a row: success_threshold percent of the minimum number of attempts. */
export function probesToClose(settings: Settings): number {
  return Math.max(1, Math.ceil((settings.minimum_request_count * settings.success_threshold) / 100));
}
