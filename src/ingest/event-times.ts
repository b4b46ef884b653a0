import type { ProjectConfig } from '../domain/config/project-config.ts';
import { invalid } from '../domain/errors.ts';
import { formatTime, readTime, TIME_HINT } from '../domain/time.ts';
import { parseGoDuration } from '../platform/time/duration.ts';

/** When an event is delivered and until when, as a caller gives it. */
export interface GivenTimes {
  deliver_at?: string | undefined;
  delay_seconds?: number | undefined;
  expires_at?: string | undefined;
  ttl_seconds?: number | undefined;
}

/** The names under which a caller gives when an event expires: the second one is of CloudEvents. */
export type ExpiryName = 'expires_at' | 'expirytime';

/** The longest delay or time to live that a call takes. */
export const MAX_SECONDS = 2_147_483_647;

/** The times of an event in the database's time, in whole milliseconds: rows that wait for it are found by it. */
export interface EventTimes {
  /** Null: at once. It may be in the past, which is at once too. */
  deliverAtMs: number | null;
  /** Null: only the subscriptions say. */
  expiresAtMs: number | null;
}

interface Limits {
  nowMs: number;
  /** The times of an event that was accepted before. */
  acceptedAtMs?: number;
  /** An open delivery is kept for longer than this, so a delayed one is sent before it is too old. */
  retentionMs: number;
  expiryName?: ExpiryName;
}

export const retentionOf = (
  { retention_policy }: Pick<ProjectConfig, 'retention_policy'>,
  instanceMs: number,
): number => {
  const ofProject = retention_policy.retention_policy_enabled
    ? parseGoDuration(retention_policy.policy)
    : null;
  return Math.min(instanceMs, ofProject ?? instanceMs);
};

/** Throws for times that contradict each other, that are too late, or that have passed. */
export function eventTimes(given: GivenTimes, limits: Limits): EventTimes {
  const deliverAtMs = deliveryTime(given, limits);
  const { expires_at, ttl_seconds } = given;
  if (expires_at !== undefined && ttl_seconds !== undefined)
    throw invalid('ttl_seconds', 'cannot be given together with expires_at');
  const fromMs = Math.max(limits.nowMs, deliverAtMs ?? 0);
  if (ttl_seconds !== undefined) return { deliverAtMs, expiresAtMs: Math.ceil(fromMs) + ttl_seconds * 1000 };
  const { expiryName = 'expires_at' } = limits;
  const expiresAtMs = expires_at === undefined ? null : parsed(expiryName, expires_at);
  checkExpiry(expiresAtMs, fromMs, expiryName);
  return { deliverAtMs, expiresAtMs };
}

/** Null: none is given. */
export function deliveryTime(
  { deliver_at, delay_seconds }: GivenTimes,
  { nowMs, acceptedAtMs = nowMs, retentionMs }: Limits,
): number | null {
  if (deliver_at !== undefined && delay_seconds !== undefined)
    throw invalid('delay_seconds', 'cannot be given together with deliver_at');
  const field = delay_seconds === undefined ? 'deliver_at' : 'delay_seconds';
  const latestMs = acceptedAtMs + retentionMs;
  const delayMs = delay_seconds === undefined ? null : delay_seconds * 1000;
  const atMs = delayMs === null ? parsedOrNull('deliver_at', deliver_at) : Math.ceil(nowMs) + delayMs;
  if (atMs !== null && atMs > latestMs)
    throw invalid(
      field,
      `must not be later than ${formatTime(latestMs)}, the retention after the event was accepted`,
    );
  return atMs;
}

/** An event that expires before its deliveries begin would never be delivered. */
export function checkExpiry(
  expiresAtMs: number | null,
  fromMs: number,
  field: ExpiryName = 'expires_at',
): void {
  if (expiresAtMs !== null && expiresAtMs <= fromMs)
    throw invalid(field, 'must be in the future, and later than the delivery');
}

const parsedOrNull = (field: string, text: string | undefined): number | null =>
  text === undefined ? null : parsed(field, text);

function parsed(field: string, text: string): number {
  const ms = readTime(text);
  if (ms === null) throw invalid(field, TIME_HINT);
  return ms;
}
