import type { Attempt, Recorded } from './attempt.ts';

/**
 * The parts that most attempts at an endpoint share, as one flat list: URL, address, status, the number of headers of the request
 * and of the response (null: no response), then the name and value of each header. A name has several values only if
 * the response had.
 */
export type Slot = string | number | null | readonly string[];

/** Slots of which some are left open: `true`. */
export type Template = readonly (Slot | true)[];

const HEAD = 5;
const [REQUEST_HEADERS, RESPONSE_HEADERS] = [3, 4];

export function slotsOf(attempt: Attempt): Slot[] {
  const { url, ipAddress, httpStatus, requestHeaders, responseHeaders } = attempt;
  const slots: Slot[] = [url, ipAddress, httpStatus, 0, null];
  for (const name of Object.keys(requestHeaders)) slots.push(name, requestHeaders[name] as string);
  slots[REQUEST_HEADERS] = (slots.length - HEAD) / 2;
  if (responseHeaders === null) return slots;
  const names = Object.keys(responseHeaders);
  for (const name of names) {
    const values = responseHeaders[name] as readonly string[];
    slots.push(name, values.length === 1 ? (values[0] as string) : values);
  }
  slots[RESPONSE_HEADERS] = names.length;
  return slots;
}

type Shared = Omit<Recorded, 'error' | 'timings'>;

export function fromSlots(slots: readonly Slot[]): Shared {
  const [url, ipAddress, httpStatus, requests, responses] = slots as [string, string, string, number, number];
  const pairs = Array.from({ length: (slots.length - HEAD) / 2 }, (_, n) => [
    slots[HEAD + 2 * n] as string,
    slots[HEAD + 2 * n + 1] as string | readonly string[],
  ]);
  const lists = pairs.slice(requests).map(([name, value]) => [name, [value].flat()]);
  return {
    url,
    ipAddress,
    httpStatus,
    requestHeaders: Object.fromEntries(pairs.slice(0, requests)) as Record<string, string>,
    responseHeaders: responses === null ? null : (Object.fromEntries(lists) as Record<string, string[]>),
  };
}

/** Whether both have the same headers in the same order. Only the values may differ. */
export function haveOneShape(a: Template, b: Template): boolean {
  if (a.length !== b.length) return false;
  for (let i = REQUEST_HEADERS; i < a.length; i += i < HEAD ? 1 : 2) if (a[i] !== b[i]) return false;
  return true;
}

/** The values that the template leaves open. Undefined: the slots differ from it elsewhere. */
export function valuesFor(template: Template, slots: readonly Slot[]): Slot[] | undefined {
  if (template.length !== slots.length) return undefined;
  const values: Slot[] = [];
  for (let i = 0; i < slots.length; i++) {
    if (template[i] === true) values.push(slots[i] as Slot);
    else if (template[i] !== slots[i]) return undefined;
  }
  return values;
}

/** Leaves open where two of one shape differ. */
export function commonTemplate(a: Template, b: Template): Template {
  return a.map((slot, i) => (slot === b[i] ? slot : true));
}

export function filled(template: Template, values: readonly Slot[]): Slot[] {
  let next = 0;
  return template.map((slot) => (slot === true ? (values[next++] ?? null) : slot));
}
