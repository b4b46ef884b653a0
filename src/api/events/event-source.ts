import { AppError, invalid } from '../../domain/errors.ts';
import type { SourceId } from '../../domain/ids.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { ApiContext } from '../http/context.ts';

/** The source of an event, or null. Events by API may only name sources of type rest_api. */
export async function eventSource(
  context: ApiContext,
  project: ProjectRow,
  sourceId: string | undefined,
): Promise<SourceId | null> {
  if (!sourceId) return null;
  const { sources } = await context.cache.get(project.id);
  const source = sources.get(sourceId);
  if (source === undefined)
    throw new AppError('not_in_project', { field: 'source_id', resource: 'source', id: sourceId });
  if (source.type !== 'rest_api') throw invalid('source_id', 'must be a source of type rest_api');
  if (source.is_disabled) throw invalid('source_id', 'is a disabled source');
  return source.id;
}
