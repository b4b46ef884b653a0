import { firstIdAt } from '../../domain/ids.ts';
import { WriteError } from '../../platform/gzip-file.ts';
import { type RemovalOptions, type RemovedPartitions, removePartitions } from './remove-partitions.ts';
import { RowRemover } from './row-remover.ts';

/**
 * Removes data older than the retention. A partition goes as a whole if no open delivery needs it. Otherwise the rows go
 * that none needs, so that a delivery that waits for weeks does not keep the history of all projects. An open delivery
 * is never removed, nor its event and attempts.
 */
export async function removeExpired(
  options: RemovalOptions,
  before: { ms: number },
): Promise<RemovedPartitions> {
  const result = await removePartitions(options, firstIdAt(before.ms));
  if (result.exportProblem !== null) return result;
  try {
    if (result.needed.length > 0) await (await RowRemover.open(options)).removeOfPartitions(result.needed);
    return result;
  } catch (error) {
    if (error instanceof WriteError) return { ...result, exportProblem: error.message };
    throw error;
  }
}
