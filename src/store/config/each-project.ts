import { isProjectAway } from '../../domain/errors.ts';
import type { ProjectId } from '../../domain/ids.ts';

/**
 * Works on one project after another. One that fails is left out until the next call, and the others go on. One that was
 * deleted or moves has no work here, and does not count as failed.
 */
export interface ProjectWork<Row extends { projectId: ProjectId }> {
  /** The rows to work on, none of the projects that are left out. */
  find(leftOut: readonly ProjectId[]): Promise<readonly Row[]>;
  /** `find` is asked again after it returned so many. Absent: it returns all at once. */
  most?: number;
  act(projectId: ProjectId, rows: readonly [Row, ...Row[]]): Promise<void>;
  failed(projectId: ProjectId, error: unknown): void;
  signal: AbortSignal;
}

/** After so many failures with no success between them the fault is not that of a project. The last one is thrown. */
export const MOST_IN_A_ROW = 100;

export async function eachProject<Row extends { projectId: ProjectId }>(
  work: ProjectWork<Row>,
): Promise<void> {
  const { find, act, failed, signal, most = Number.POSITIVE_INFINITY } = work;
  const leftOut: ProjectId[] = [];
  let inARow = 0;
  for (let isMore = true; isMore && !signal.aborted; ) {
    const found = await find(leftOut);
    isMore = found.length >= most;
    for (const [projectId, rows] of Map.groupBy(found, (row) => row.projectId)) {
      if (signal.aborted) return;
      try {
        await act(projectId, rows as [Row, ...Row[]]);
        inARow = 0;
      } catch (error) {
        leftOut.push(projectId);
        if (isProjectAway(error)) continue;
        failed(projectId, error);
        inARow += 1;
        if (inARow === MOST_IN_A_ROW) throw error;
      }
    }
  }
}
