import type { Static } from 'typebox';
import { AppError, type FieldProblem } from '../../domain/errors.ts';
import type { GroupResult } from '../../ingest/accept-event.ts';
import type { BatchResult } from './batch-schema.ts';

/** A refusal of the whole call names so many events in its message, and all of them in its fields. */
const NAMED = 20;

export function resultOf(outcome: GroupResult, index: number): Static<typeof BatchResult> {
  if (outcome instanceof AppError) {
    const message = problemsOf(outcome, index).map(textOf).join('; ');
    return { status: 'refused', uid: '', duplicate_of: '', code: outcome.code, message };
  }
  const { event, isDuplicate, duplicateOf, warnings = [] } = outcome;
  const status = isDuplicate ? 'duplicate' : 'stored';
  return { status, uid: event.id, duplicate_of: duplicateOf ?? '', code: '', message: warnings.join('; ') };
}

/** Refuses the whole call. A limit of the project or a source is a reason to try again, and no fault of an event. */
export function refuseIfAny(outcomes: readonly unknown[]): void {
  const limited = outcomes.find((one) => one instanceof AppError && one.code === 'rate_limited');
  if (limited instanceof AppError) throw limited;
  const fields = outcomes.flatMap((one, n) => (one instanceof AppError ? problemsOf(one, n) : []));
  if (fields.length === 0) return;
  const more = fields.length > NAMED ? `; and ${fields.length - NAMED} more` : '';
  const text = fields.slice(0, NAMED).map(textOf).join('; ');
  throw new AppError('validation_failed', { fields: `${text}${more}` }, { fields });
}

/** The fields of a refusal, as those of the whole call. */
function problemsOf({ fields, message, params }: AppError, index: number): FieldProblem[] {
  const at = `events[${index}]`;
  const inside = (field: string) => (field === '' ? at : `${at}.${field}`);
  if (fields.length > 0) return fields.map(({ field, problem }) => ({ field: inside(field), problem }));
  const field = params['field'];
  if (typeof field !== 'string') return [{ field: at, problem: message }];
  return [{ field: inside(field), problem: message.replace(`${field}: `, '') }];
}

const textOf = ({ field, problem }: FieldProblem): string => `${field}: ${problem}`;
