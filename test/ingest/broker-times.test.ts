import { expect, test } from 'vitest';
import { type MessageReader, readBrokerMessage } from '../../src/ingest/broker-message.ts';
import type { NewEvent } from '../../src/ingest/new-event.ts';
import type { SourceRow } from '../../src/store/config/sources.ts';
import { NOON } from '../support/samples/leased-delivery.ts';
import { routingOf } from '../support/samples/routing.ts';
import { countTurns } from '../support/suite/count-turns.ts';

const HOUR_MS = 3_600_000;

/** The event of a message with these fields. Its source has no functions. */
function read(fields: object): Promise<NewEvent> {
  const routing = routingOf();
  const source = { id: 'source', project_id: 'p', type: 'pub_sub', header_function: '', body_function: '' };
  const reader = {
    source: source as unknown as SourceRow,
    routing,
    refresh: async () => routing,
    seed: 's',
    nowMs: NOON + 0.4,
    retentionMs: HOUR_MS,
    jsonBounds: { depth: 100, names: 1_000 },
  } as MessageReader;
  const body = Buffer.from(JSON.stringify({ event_type: 'a', data: {}, endpoint_id: 'e', ...fields }));
  return readBrokerMessage(reader, { body, headers: {}, id: null });
}

test('a message says when its event is delivered and until when', async () => {
  const times = async (fields: object) => (await read(fields)).times;
  expect(await times({})).toEqual({ deliverAtMs: null, expiresAtMs: null });
  expect(await times({ deliver_at: '', expires_at: '' })).toEqual({ deliverAtMs: null, expiresAtMs: null });
  expect(await times({ delay_seconds: 5 })).toEqual({ deliverAtMs: NOON + 5_001, expiresAtMs: null });
  expect(await times({ delay_seconds: 5, ttl_seconds: 2 })).toEqual({
    deliverAtMs: NOON + 5_001,
    expiresAtMs: NOON + 7_001,
  });
  expect(
    await times({ deliver_at: '2026-06-01T12:30:00Z', expires_at: '2026-06-01T14:30:00+01:00' }),
  ).toEqual({
    deliverAtMs: NOON + HOUR_MS / 2,
    expiresAtMs: NOON + 1.5 * HOUR_MS,
  });
});

test('a message says the ordering key of its event', async () => {
  const key = async (ordering_key: unknown) => {
    const { eventType, orderingKey, functionFailure } = await read({ ordering_key });
    return eventType === 'a' ? orderingKey : functionFailure;
  };
  expect([await key('account ü'), await key(''), await key(undefined)]).toEqual(['account ü', null, null]);
  expect(await key('k'.repeat(512))).toBe('k'.repeat(512));
  expect(await key('k'.repeat(513))).toContain('longer than 512 characters');
  expect(await key(7)).toContain('ordering_key of the message must be a string');
  expect(await key('a\0')).toContain('zero character');
});

test('a message whose times cannot be is kept as unreadable, with the reason', async () => {
  for (const [fields, reason] of [
    [{ deliver_at: 'soon' }, 'deliver_at: must be a time'],
    [{ deliver_at: 7 }, 'deliver_at of the message must be a string'],
    [{ delay_seconds: '7' }, 'delay_seconds of the message must be a whole number of seconds from 0 up'],
    [{ ttl_seconds: 0 }, 'ttl_seconds of the message must be a whole number of seconds from 1 up'],
    [{ delay_seconds: 1, deliver_at: '2026-06-01T12:30:00Z' }, 'cannot be given together with deliver_at'],
    [{ ttl_seconds: 1, expires_at: '2026-06-01T12:30:00Z' }, 'cannot be given together with expires_at'],
    [{ delay_seconds: 3_601 }, 'must not be later than 2026-06-01T13:00:00.000Z'],
    [{ expires_at: '2026-06-01T12:00:00Z' }, 'expires_at: must be in the future'],
    [{ expires_at: '2026-06-01T12:10:00Z', delay_seconds: 900 }, 'later than the delivery'],
  ] as const) {
    const event = await read(fields);
    expect(event.eventType).toBe('broker.unreadable');
    expect(event.functionFailure).toContain(reason);
  }
});

test('a message that nests too deep or has too many names is kept as an event that failed', async () => {
  const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown;
  const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, 0]));
  const outcome = async (data: unknown) => {
    const { eventType, functionFailure } = await read({ data });
    return [eventType, functionFailure];
  };
  expect(await outcome(nested(99))).toEqual(['a', null]);
  expect(await outcome(nested(100))).toEqual([
    'broker.unreadable',
    'The JSON nests deeper than 100 levels, the limit that POSTHORN_MAX_JSON_DEPTH sets.',
  ]);
  expect(await outcome(named(997))).toEqual(['a', null]);
  expect(await outcome(named(998))).toEqual([
    'broker.unreadable',
    expect.stringContaining('more than 1000 names'),
  ]);
});

test('a large message is read in slices, with its data as it came', async () => {
  const data = [...Array<string>(8).fill('x'.repeat(100_000)), 1.5];
  const { turns, result: event } = await countTurns(() => read({ data }));
  expect(event).toMatchObject({ eventType: 'a', contentType: null, functionFailure: null });
  expect(String(event.payload)).toBe(JSON.stringify(data));
  expect(turns).toBeGreaterThanOrEqual(4);
  const other = await read({ data, unknown: 1 });
  expect(other).toMatchObject({ eventType: 'broker.unreadable', contentType: 'text/plain' });
});
