import type { ConfigCache } from '../routing/config-cache.ts';

/**
 * What may keep due deliveries waiting. A gate belongs to the endpoint, never to its rows: opening it changes one
 * row, however many wait behind it.
 *
 * The endpoint to claim for, or null while a gate is closed. An endpoint that is gone or inactive has an open gate:
 * its deliveries are claimed and end as discarded.
 */
export function openEndpoint(cache: ConfigCache, projectId: string, key: string): string | null {
  const routing = cache.peek(projectId);
  if (routing === undefined) {
    void cache.load(projectId);
    return null;
  }
  return routing.endpoints.get(key)?.row.status === 'paused' ? null : key;
}
