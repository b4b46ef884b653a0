import { type Attempt, type Recorded, TIMES, type Timings } from './attempt.ts';
import { filled, fromSlots, type Slot, type Template } from './attempt-slots.ts';

/** The columns of an attempt that hold its record. */
export interface PackedAttempt {
  /** Null: the record is whole. */
  templateId: number | null;
  /** JSON: its times, its error, then the values that its template leaves open, or all of its slots. */
  record: string;
}

/** In place of the id of the delivery, which most endpoints get as a header. */
const DELIVERY_ID = 0;

export function packed(
  attempt: Attempt,
  values: readonly Slot[],
  template: { id: number; deliveryId: string } | null,
): PackedAttempt {
  const own =
    template === null ? values : values.map((value) => (value === template.deliveryId ? DELIVERY_ID : value));
  const times = TIMES.map((name) => rounded(attempt.timings[name]));
  while (times.at(-1) === null) times.pop();
  return { templateId: template?.id ?? null, record: JSON.stringify([times, attempt.error, ...own]) };
}

/** To a microsecond, which is finer than the clocks of two processes agree. */
const rounded = (ms: number | undefined) => (ms === undefined ? null : Math.round(ms * 1000) / 1000);

/** As it is read: with the text of its template, null where it has none or where that is gone. */
export interface StoredRecord {
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
  const own = values.map((value) => (value === DELIVERY_ID ? row.delivery_id : value));
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
