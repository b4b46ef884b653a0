import { AppError, invalid } from '../../domain/errors.ts';
import type { ApiContext } from './context.ts';

/** Refuses a function that does not compile or defines no `transform`, with the line of the mistake. */
export async function checkFunction(
  context: ApiContext,
  field: string,
  given: { projectId: string; code: string },
): Promise<void> {
  if (given.code === '') return;
  const check = await context.sandbox.check(given.code, given.projectId);
  if (check.ok) return;
  if (check.ours) throw new AppError('overloaded', { retry: 1 });
  throw invalid(field, check.line === undefined ? check.message : `line ${check.line}: ${check.message}`);
}
