import type { ProjectRouting } from './project-routing.ts';

/** What a delivery that comes back into the queue is claimed by. */
export function queueKeyOf(
  _routing: ProjectRouting,
  delivery: { endpoint_id: string; subscription_id: string | null },
): string {
  return delivery.endpoint_id;
}
