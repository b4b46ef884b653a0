import { AppError } from '../domain/errors.ts';
import type { ProjectId } from '../domain/ids.ts';
import type { ConfigCache } from './config-cache.ts';
import type { ProjectRouting } from './project-routing.ts';

/** The config of a project; null where the project was deleted. */
export async function existingRouting(
  cache: Pick<ConfigCache, 'peek' | 'get'>,
  projectId: ProjectId,
): Promise<ProjectRouting | null> {
  try {
    return cache.peek(projectId) ?? (await cache.get(projectId));
  } catch (error) {
    if (error instanceof AppError && error.code === 'project_not_found') return null;
    throw error;
  }
}
