import { type FilterConditions, noConditions } from '../../domain/config/subscription.ts';
import { invalid } from '../../domain/errors.ts';
import { asId, type SourceId } from '../../domain/ids.ts';
import type { LocalAnswer, PullResult } from '../../domain/pull-service.ts';
import { readTime } from '../../domain/time.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { parseGoDuration } from '../../platform/time/duration.ts';
import { parseJson } from '../http/validation.ts';
import { readConditions, type ScopeConditions } from '../subscriptions/filter-conditions.ts';

/** The messages of a listening program, checked. See docs/listen.md. */
export interface ListenMessage {
  type: 'listen';
  hostName: string;
  eventTypes: string[];
  /** Empty: of any source. */
  sourceId: SourceId | '';
  filter: FilterConditions;
  /** From when stored events are matched again. Null: none. */
  sinceMs: number | null;
  max: number;
}

export type ClientMessage = ListenMessage | { type: 'result'; result: PullResult };

const MAX_UNANSWERED = 100;
const DEFAULT_UNANSWERED = 20;
const MAX_SINCE_MS = 86_400_000;
const MAX_BODY_BYTES = 51_200;
const MAX_TEXT = 1_024;

type Fields = Record<string, unknown>;

export function readMessage(text: string, nowMs: number): ClientMessage {
  const message = parseJson(text);
  if (typeof message !== 'object' || message === null) throw invalid('', 'a message must be an object');
  const fields = message as Fields;
  if (fields['type'] === 'listen') return listenMessage(fields, nowMs);
  if (fields['type'] === 'result') return { type: 'result', result: resultMessage(fields) };
  throw invalid('type', 'must be listen or result');
}

function listenMessage(fields: Fields, nowMs: number): ListenMessage {
  const hostName = text(fields, 'host_name', 256);
  if (hostName === '') throw invalid('host_name', 'is required');
  const types = fields['event_types'] ?? [];
  if (!Array.isArray(types) || types.length > 100 || types.some((type) => !isText(type, 256) || type === ''))
    throw invalid('event_types', 'must be at most 100 names');
  const filter = fields['filter'] ?? {};
  if (!isObject(filter) || Object.values(filter).some((scope) => !isObject(scope)))
    throw invalid('filter', 'must have objects as body, headers, query and path');
  return {
    type: 'listen',
    hostName,
    eventTypes: types.length === 0 ? ['*'] : [...new Set(types as string[])],
    sourceId: asId(text(fields, 'source_id', 64)),
    filter: { ...noConditions(), ...readConditions(filter as ScopeConditions, 'filter') },
    sinceMs: since(text(fields, 'since', 64), nowMs),
    max: number(fields, 'max', { least: 1, most: MAX_UNANSWERED }) ?? DEFAULT_UNANSWERED,
  };
}

function since(given: string, nowMs: number): number | null {
  if (given === '') return null;
  const duration = parseGoDuration(given);
  const at = duration === null ? readTime(given) : nowMs - duration;
  if (at === null)
    throw invalid('since', 'must be a duration such as 10m, or a time such as 2026-01-31T15:04:05Z');
  return Math.max(at, nowMs - MAX_SINCE_MS);
}

function resultMessage(fields: Fields): PullResult {
  const { ok } = fields;
  if (typeof ok !== 'boolean') throw invalid('ok', 'must be true or false');
  return {
    id: text(fields, 'uid', 64),
    lease: text(fields, 'lease', 128),
    ok,
    reason: text(fields, 'reason', MAX_TEXT),
    answer: localAnswer(fields),
  };
}

function localAnswer(fields: Fields): LocalAnswer | null {
  const status = number(fields, 'status', { least: 100, most: 599 });
  if (status === null) return null;
  const headers = fields['headers'] ?? {};
  if (!isObject(headers) || Object.values(headers).some((value) => !isText(value, 8_192)))
    throw invalid('headers', 'must be texts by name');
  const body = Buffer.from(text(fields, 'body', 2 * MAX_BODY_BYTES), 'base64');
  if (body.length > MAX_BODY_BYTES) throw invalid('body', `is larger than ${MAX_BODY_BYTES} bytes`);
  return {
    url: text(fields, 'url', 2_048),
    status: Math.floor(status),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value as string]])),
    body,
    ms: number(fields, 'ms', { least: 0, most: MAX_SINCE_MS }) ?? 0,
  };
}

/** The database stores no zero characters. */
const isText = (value: unknown, maxLength: number): value is string =>
  typeof value === 'string' && value.length <= maxLength && !value.includes('\0');

function text(fields: Fields, name: string, maxLength: number): string {
  const value = fields[name] ?? '';
  if (!isText(value, maxLength)) throw invalid(name, `must be a text of at most ${maxLength} characters`);
  return value;
}

function number(fields: Fields, name: string, range: { least: number; most: number }): number | null {
  const value = fields[name] ?? null;
  if (value === null) return null;
  if (typeof value !== 'number' || !(value >= range.least && value <= range.most))
    throw invalid(name, `must be a number from ${range.least} to ${range.most}`);
  return value;
}
