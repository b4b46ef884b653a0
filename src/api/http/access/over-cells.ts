import type { FastifyRequest } from 'fastify';
import { isConnectionError } from '../../../store/database/pg-errors.ts';
import type { CellView, ReadContext } from '../context.ts';

/** A cell that is slower misses a list over all cells. */
const LONGEST_MS = 3_000;

/** Reads every cell. The caller is warned of those that are missing. */
export async function overCells<T>(
  { cells }: Pick<ReadContext, 'cells'>,
  request: FastifyRequest,
  read: (cell: CellView) => Promise<T[]>,
): Promise<T[]> {
  const all = cells.all();
  const [only] = all;
  if (all.length === 1 && only?.name === '') return read(only);
  const missing = [...cells.away()];
  const lists = await Promise.all(
    all.map(async (cell) => {
      const list = await inTime(read(cell));
      if (list === null) missing.push(cell.name);
      return list ?? [];
    }),
  );
  for (const name of missing)
    (request.warnings ??= []).push(`Cell ${name} cannot be reached: what it has is missing.`);
  return lists.flat();
}

async function inTime<T>(reading: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), LONGEST_MS);
  });
  try {
    return await Promise.race([reading, late]);
  } catch (error) {
    if (isConnectionError(error)) return null;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
