import type { ProjectRow } from '../store/projects.ts';
import type { ApiContext } from './context.ts';

/** The source an event names, or null if it names none. */
export async function eventSource(
  _context: ApiContext,
  _project: ProjectRow,
  sourceId: string | undefined,
): Promise<string | null> {
  return sourceId || null;
}
