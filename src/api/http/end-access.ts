import type { ApiContext } from './context.ts';

/**
 * Runs a change that ends or narrows somebody's access. The callers that this node remembers are forgotten before it
 * answers, also where the change failed: its commit may have gone through all the same.
 */
export async function endingAccess<T>(
  { forgetCallers }: Pick<ApiContext, 'forgetCallers'>,
  projectId: string,
  change: () => Promise<T>,
): Promise<T> {
  try {
    return await change();
  } finally {
    forgetCallers(projectId);
  }
}
