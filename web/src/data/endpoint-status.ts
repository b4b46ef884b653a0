import type { Endpoint, EndpointHealth } from 'posthorn-client';

/** Whether an endpoint is inactive because its time is over. */
export const hasExpired = ({ status, expires_at }: Pick<Endpoint, 'status' | 'expires_at'>): boolean =>
  status === 'inactive' && expires_at !== null && new Date(expires_at).getTime() <= Date.now();

/** A time as a field of the kind `datetime-local` has it. */
export function localTime(time: string | null): string {
  if (time === null) return '';
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Whether the state of an endpoint asks for an act. A pause does once deliveries wait. */
export function isTroubled({
  state,
  waiting_for: waiting,
}: Pick<EndpointHealth, 'state'> & { waiting_for: Partial<EndpointHealth['waiting_for']> }): boolean {
  if (state === 'held') return Object.values(waiting).some((count) => count > 0);
  return state !== 'ok' && state !== 'recovered';
}
