import { idTime } from '../../domain/ids.ts';
import { type Attempt, type Recorded, TIMES, type Timings } from './attempt.ts';
import { filled, fromSlots, type Slot, type Template } from './attempt-slots.ts';
import { lengthened, shortened } from './short-text.ts';

/** The columns of an attempt that hold its record. */
export interface PackedAttempt {
  /** Null: the record is whole. */
  templateId: number | null;
  /** JSON: its times, its error, then the values that its template leaves open, shortened, or all of its slots. */
  record: string;
}

export function packed(
  attempt: Attempt,
  values: readonly Slot[],
  template: { id: number; deliveryId: string; misses: number[] } | null,
): PackedAttempt {
  const times = TIMES.map((name) => rounded(attempt.timings[name]));
  while (times.at(-1) === null) times.pop();
  const own = template === null ? values : shortValues(attempt.id, values, template);
  return { templateId: template?.id ?? null, record: JSON.stringify([times, attempt.error, ...own]) };
}

/** To a microsecond, which is finer than the clocks of two processes agree. */
const rounded = (ms: number | undefined) => (ms === undefined ? null : Math.round(ms * 1000) / 1000);

/** After so many values without a short form, those of a place are no longer searched for one. */
const MISSES = 8;

/** `misses` counts the values of each place of a template that had no short form. */
function shortValues(
  attemptId: string,
  values: readonly Slot[],
  { deliveryId, misses }: { deliveryId: string; misses: number[] },
): Slot[] {
  const known = knownOf(attemptId, deliveryId);
  return values.map((value, place) => {
    if (typeof value !== 'string') return eachText(value, (text) => shortened(text, known));
    const missed = misses[place] ?? 0;
    if (missed >= MISSES && !value.includes('~')) return value;
    const short = shortened(value, known);
    misses[place] = short === value ? missed + 1 : 0;
    return short;
  });
}

const knownOf = (attemptId: string, deliveryId: string) => ({
  deliveryId,
  atSeconds: Math.floor(idTime(attemptId) / 1000),
});

function eachText(value: Slot, change: (text: string) => string): Slot {
  if (typeof value === 'string') return change(value);
  return Array.isArray(value) ? (value as string[]).map(change) : value;
}

/** As it is read: with the text of its template, null where it has none or where that is gone. */
export interface StoredRecord {
  id: string;
  delivery_id: string;
  template_id: number | null;
  record: string;
  template: string | null;
}

/** The select item of `template`, of a row with this alias and column. */
export const templateField = (row: string, column: string): string =>
  `(select slots from attempt_templates t where t.project_id = ${row}.project_id and t.id = ${row}.${column}) as template`;

export function unpacked(row: StoredRecord): Recorded {
  const [times, error, ...values] = JSON.parse(row.record) as [(number | null)[], string | null, ...Slot[]];
  const measured = TIMES.flatMap((name, n) => (times[n] == null ? [] : [[name, times[n]]]));
  const timings = Object.fromEntries(measured) as Timings;
  if (row.template_id === null) return { ...fromSlots(values), error, timings };
  const known = knownOf(row.id, row.delivery_id);
  const own = values.map((value) => eachText(value, (text) => lengthened(text, known)));
  if (row.template === null) return { ...withoutTemplate(own, row.template_id, error), timings };
  return { ...fromSlots(filled(JSON.parse(row.template) as Template, own)), error, timings };
}

/** A damaged database. The attempt still has its own values, without their names. */
function withoutTemplate(own: readonly Slot[], id: number, error: string | null): Omit<Recorded, 'timings'> {
  return {
    url: '',
    ipAddress: null,
    httpStatus: null,
    error: error ?? `The rest of this attempt cannot be shown: template ${id} is missing.`,
    requestHeaders: Object.fromEntries(own.map((value, n) => [`value-${n + 1}`, String(value)])),
    responseHeaders: null,
  };
}
