import { isObject } from '../../platform/json/is-object.ts';

/** Answers of the service as text for people. The other forms of the output have everything, and exactly. */
const UNITS: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
];

/** From two of a unit on it is used: 90 min, then 2 h. */
export function relativeTime(ms: number, nowMs: number): string {
  const seconds = Math.round(Math.abs(ms - nowMs) / 1000);
  if (seconds === 0) return 'now';
  const [size, unit] = UNITS.find(([least]) => seconds >= 2 * least) ?? [1, 's'];
  const length = `${Math.floor(seconds / size)} ${unit}`;
  return ms > nowMs ? `in ${length}` : `${length} ago`;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** A time of the service. Null: it is another value. */
export function timeIn(value: unknown): number | null {
  return typeof value === 'string' && TIME.test(value) ? Date.parse(value) : null;
}

/** Tables are for looking on. The other forms have everything. */
const SECRET = /^(secrets|standard_webhooks_secret|authentication|verifier)$/;
/** The payload is shown apart, and once. */
const PAYLOAD = /^(data|raw)$/;

/** The fields that say something, one a line. Those of an object in it have its name before theirs. */
export function fieldsOf(item: object, prefix = ''): [name: string, value: unknown][] {
  return Object.entries(item).flatMap(([name, value]: [string, unknown]): [string, unknown][] => {
    if (value === null || value === '' || SECRET.test(name) || PAYLOAD.test(name)) return [];
    if (Array.isArray(value)) return value.length === 0 ? [] : [[prefix + name, listed(value)]];
    if (!isObject(value)) return [[prefix + name, value]];
    return 'uid' in value ? [[prefix + name, named(value)]] : fieldsOf(value, `${prefix}${name}.`);
  });
}

function listed(values: readonly unknown[]): string {
  if (values.every((value) => !isObject(value))) return values.map(String).join(', ');
  if (values.every((value) => isObject(value) && 'uid' in value))
    return values.map((value) => named(value as Record<string, unknown>)).join(', ');
  return `${values.length} of them; --output json shows them`;
}

/** Another resource is shown by its name and id. */
function named({ uid, name }: Record<string, unknown>): string {
  return typeof name === 'string' && name !== '' ? `${name} (${String(uid)})` : String(uid);
}

/** The payload of an event, or of the event of a delivery. */
export function payloadOf(item: object): unknown {
  if ('data' in item) return item.data;
  return 'metadata' in item && isObject(item.metadata) ? item.metadata['data'] : undefined;
}
