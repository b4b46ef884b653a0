import { SPEC_VERSION } from '../../domain/config/cloud-event.ts';
import { type FieldProblem, invalid, invalidFields } from '../../domain/errors.ts';
import { isMediaType } from '../../domain/http-header.ts';
import { readTime, TIME_HINT } from '../../domain/time.ts';

const REQUIRED = ['specversion', 'id', 'source', 'type'];
const TIMES = ['time', 'expirytime'];
/** Attributes that become fields of the event have the limits of these fields. */
const MOST_CHARS: Readonly<Record<string, number>> = { type: 256, partitionkey: 512 };
const MOST_ATTRIBUTES = 100;
const MOST_BYTES = 8_192;
const MOST_PROBLEMS = 20;
const MOST_TYPE_CHARS = 256;
const CONTROL = /\p{Cc}/u;

/** Attributes become headers of every delivery, and receivers refuse a request with too many of them. */
export function checkSize(attributes: readonly (readonly [name: string, value: unknown])[]): void {
  if (attributes.length > MOST_ATTRIBUTES)
    throw invalid('', `a CloudEvent must have at most ${MOST_ATTRIBUTES} attributes`);
  const bytes = attributes.reduce((sum, [name, value]) => sum + byteLength(name) + byteLength(value), 0);
  if (bytes > MOST_BYTES)
    throw invalid('', `the attributes of a CloudEvent must have at most ${MOST_BYTES} bytes together`);
}

const byteLength = (value: unknown): number => (typeof value === 'string' ? Buffer.byteLength(value) : 0);

export function problemsOf(attributes: ReadonlyMap<string, string>): FieldProblem[] {
  const missing = REQUIRED.filter((name) => (attributes.get(name) ?? '') === '');
  const problems = missing.map((field) => ({ field, problem: 'is required in a CloudEvent' }));
  const version = attributes.get('specversion') || SPEC_VERSION;
  if (version !== SPEC_VERSION)
    problems.push({ field: 'specversion', problem: `must be ${SPEC_VERSION}, not ${version.slice(0, 20)}` });
  if (/\s/.test(attributes.get('source') ?? ''))
    problems.push({ field: 'source', problem: 'must be a URI reference, without spaces' });
  for (const [field, text] of attributes) {
    const most = MOST_CHARS[field] ?? MOST_BYTES;
    if (text.length > most) problems.push({ field, problem: `must have at most ${most} characters` });
    else if (CONTROL.test(text)) problems.push({ field, problem: 'must not have control characters' });
  }
  for (const field of TIMES) {
    const text = attributes.get(field);
    if (text !== undefined && readTime(text) === null) problems.push({ field, problem: TIME_HINT });
  }
  return problems;
}

/** The type of the data becomes the content type of deliveries. Without one it is JSON. */
export function typeProblems(type: unknown): FieldProblem[] {
  if (type === undefined || type === null || type === '') return [];
  const wrong = (problem: string) => [{ field: 'datacontenttype', problem }];
  if (typeof type !== 'string') return wrong('must be a string');
  if (type.length > MOST_TYPE_CHARS) return wrong(`must have at most ${MOST_TYPE_CHARS} characters`);
  return isMediaType(type) ? [] : wrong('must be a media type, such as application/json');
}

export function refuse(problems: readonly FieldProblem[]): void {
  // An attribute of a wrong kind is also missing: the first problem of a field says it.
  const seen = new Set<string>();
  const first = problems.filter(({ field }) => !seen.has(field) && seen.add(field));
  if (first.length > 0) throw invalidFields(first.slice(0, MOST_PROBLEMS));
}
