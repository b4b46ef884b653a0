import { isOfCloud, isWorkloadKind, NOT_OF_CLOUD } from '../../domain/config/workload.ts';
import { type BrokerField, type BrokerFieldsKind, fieldsFor } from '../../domain/resources/broker-fields.ts';
import type { Problems } from '../http/problems.ts';

/** The place of the settings in a request. */
interface At {
  path: string;
  problems: Problems;
}

type Given = Readonly<Record<string, unknown>>;

/** Settings of a kind of broker, checked by the description of its fields. No broker is contacted. */
export function readBroker(
  { kind, use }: { kind: BrokerFieldsKind; use: 'source' | 'destination' },
  given: Given,
  at: At,
): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const [name, field] of fieldsFor(kind, use)) {
    const [group = '', leaf] = name.split('.');
    const place = { path: `${at.path}.${name}`, problems: at.problems };
    if (field.insteadOf !== undefined && given[field.insteadOf]) {
      if (isGiven(given[name]))
        place.problems.add(place.path, `must be empty when ${field.insteadOf} is given`);
      read[name] = '';
      continue;
    }
    if (field.isLeftOut === true && !given[name]) continue;
    if (leaf === undefined) {
      read[name] = readField(field, given[name] ?? given[field.alias ?? ''], place);
      continue;
    }
    const inner = given[group] as Given | undefined;
    if (inner === undefined) read[group] = null;
    else read[group] = { ...(read[group] as Given), [leaf]: readField(field, inner[leaf], place) };
  }
  RULES[kind]?.(read, at);
  checkWorkload(kind, read, at);
  return read;
}

const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0);

function checkWorkload(
  kind: string,
  { credentials, endpoint }: Record<string, unknown>,
  { path, problems }: At,
): void {
  if (credentials !== 'workload' || !isWorkloadKind(kind) || !isGiven(endpoint)) return;
  if (!isOfCloud(kind, endpoint as string)) problems.add(`${path}.endpoint`, NOT_OF_CLOUD);
}

function readField(field: BrokerField, given: unknown, at: At): unknown {
  switch (field.kind) {
    case 'flag':
      return given ?? false;
    case 'list':
      return readList(field, (given ?? []) as string[], at);
    case 'bytes':
      return readBytes(given, at);
    case 'text':
    case 'secret':
    case 'choice':
      return readText(field, given as string | undefined, at);
  }
}

function readText(field: BrokerField, given: string | undefined, at: At): string | null {
  if (given === undefined && field.isNullable === true) return null;
  const text = given || field.usual || '';
  if (text === '') {
    if (field.required === true || field.insteadOf !== undefined) at.problems.add(at.path, 'is required');
    return text;
  }
  if (field.rule !== undefined && !field.rule.pattern.test(text)) at.problems.add(at.path, field.rule.says);
  if (Buffer.byteLength(text) > (field.maxBytes ?? Number.POSITIVE_INFINITY))
    at.problems.add(at.path, `must have at most ${field.maxBytes} bytes`);
  return text;
}

function readList({ rule, required }: BrokerField, given: readonly string[], at: At): readonly string[] {
  if (given.length === 0 && required === true) at.problems.add(at.path, 'must name at least one broker');
  given.forEach((item, index) => {
    if (rule !== undefined && !rule.pattern.test(item)) at.problems.add(`${at.path}.${index}`, rule.says);
  });
  return given;
}

const MAX_BYTES = 65_536;

/** Bytes, given as base64 or as an array of numbers, as base64. */
function readBytes(given: unknown, { path, problems }: At): string {
  if (given === undefined || given === '' || (Array.isArray(given) && given.length === 0)) {
    problems.add(path, 'is required');
    return '';
  }
  const bytes = typeof given === 'string' ? decodeBase64(given) : ofNumbers(given);
  if (bytes === null || bytes.length > MAX_BYTES) {
    problems.add(path, `must be base64 or an array of byte values, ${MAX_BYTES} bytes at most`);
    return '';
  }
  return bytes.toString('base64');
}

function decodeBase64(text: string): Buffer | null {
  const compact = text.replace(/\s+/g, '');
  return /^[\w+/-]+={0,2}$/.test(compact) && compact.replace(/=+$/, '').length % 4 !== 1
    ? Buffer.from(compact, 'base64')
    : null;
}

function ofNumbers(given: unknown): Buffer | null {
  if (!Array.isArray(given)) return null;
  const isByte = (value: unknown) =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) < 256;
  return given.every(isByte) ? Buffer.from(given as number[]) : null;
}

/** Rules between fields. */
const RULES: Partial<Record<BrokerFieldsKind, (read: Record<string, unknown>, at: At) => void>> = {
  kafka: (read, { path, problems }) => {
    const auth = read['auth'] as { type: string; hash: string; username: string; password: string } | null;
    if (auth === null) return;
    if (auth.type === 'scram') auth.hash ||= 'SHA512';
    if (auth.type !== '') {
      problems.text(`${path}.auth.username`, auth.username);
      problems.text(`${path}.auth.password`, auth.password);
    } else if (auth.username !== '' || auth.password !== '') {
      problems.add(`${path}.auth.type`, 'must be plain or scram');
    }
  },
  amqp: (read, { path, problems }) => {
    if (read['port'] === '') read['port'] = read['schema'] === 'amqps' ? '5671' : '5672';
    if (read['exchange'] === '') problems.text(`${path}.routing_key`, read['routing_key'] as string);
  },
};
