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
  template: { id: number; deliveryId: string } | null,
): PackedAttempt {
  const times = TIMES.map((name) => rounded(attempt.timings[name]));
  while (times.at(-1) === null) times.pop();
  const own = template === null ? values : eachText(values, shortened, attempt.id, template.deliveryId);
  return { templateId: template?.id ?? null, record: JSON.stringify([times, attempt.error, ...own]) };
}

/** To a microsecond, which is finer than the clocks of two processes agree. */
const rounded = (ms: number | undefined) => (ms === undefined ? null : Math.round(ms * 1000) / 1000);

function eachText(
  values: readonly Slot[],
  change: typeof shortened,
  attemptId: string,
  deliveryId: string,
): Slot[] {
  const known = { deliveryId, atSeconds: Math.floor(idTime(attemptId) / 1000) };
  return values.map((value) => {
    if (typeof value === 'string') return change(value, known);
    return Array.isArray(value) ? value.map((text: string) => change(text, known)) : value;
  });
}

/** As it is read: with the text of its template, null where it has none or where that is gone. */
export interface StoredRecord {
  id: string;
  delivery_id: string;
  template_id: number | null;
  record: string;
  template: string | null;
}

export function unpacked(row: StoredRecord): Recorded {
  const [times, error, ...values] = JSON.parse(row.record) as [(number | null)[], string | null, ...Slot[]];
  const measured = TIMES.flatMap((name, n) => (times[n] == null ? [] : [[name, times[n]]]));
  const timings = Object.fromEntries(measured) as Timings;
  if (row.template_id === null) return { ...fromSlots(values), error, timings };
  const own = eachText(values, lengthened, row.id, row.delivery_id);
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
