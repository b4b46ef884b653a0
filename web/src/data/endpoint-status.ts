import type { Endpoint } from 'posthorn-client';

/** Whether an endpoint is inactive because its time is over. */
export const hasExpired = ({ status, expires_at }: Pick<Endpoint, 'status' | 'expires_at'>): boolean =>
  status === 'inactive' && expires_at !== null && new Date(expires_at).getTime() <= Date.now();

/** A time as a field of the kind `datetime-local` has it. */
export function localTime(time: string | null): string {
  if (time === null) return '';
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Whether a state of an endpoint's health asks for an act. */
export const isTroubled = (state: string): boolean => state !== 'ok' && state !== 'recovered';
