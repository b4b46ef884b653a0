import { expect, test } from 'vitest';
import { received } from '../../src/brokers/amqp/received-message.ts';
import { type MessageReader, readBrokerMessage } from '../../src/ingest/broker-message.ts';
import type { NewEvent } from '../../src/ingest/new-event.ts';
import type { SourceRow } from '../../src/store/config/sources.ts';
import { NOON } from '../support/samples/leased-delivery.ts';
import { routingOf } from '../support/samples/routing.ts';

/** The event of a message. Its source has no functions. */
function read(
  headers: Record<string, string>,
  body: string | object,
  fields: object = { cloudevents: true },
): Promise<NewEvent> {
  const routing = routingOf();
  const source = { id: 's', project_id: 'p', type: 'pub_sub', header_function: '', body_function: '' };
  const reader = {
    source: { ...source, ...fields } as unknown as SourceRow,
    routing,
    refresh: async () => routing,
    seed: 's',
    nowMs: NOON,
    retentionMs: 3_600_000,
    jsonBounds: { depth: 100, names: 1_000 },
  } as MessageReader;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return readBrokerMessage(reader, { body: Buffer.from(text), headers, id: null });
}

const cloud = { specversion: '1.0', id: '1', source: '/shop', type: 'order.paid' };
const binary = (prefix: string) =>
  Object.fromEntries(Object.entries(cloud).map(([name, value]) => [`${prefix}${name}`, value]));
const STRUCTURED = { 'content-type': 'application/cloudevents+json' };

test.each(['ce_', 'ce-', 'cloudEvents:', 'cloudEvents_'])(
  'a message with headers %s is a binary CloudEvent for all subscribers',
  async (prefix) => {
    const event = await read(
      { ...binary(prefix), [`${prefix}partitionkey`]: 'k', other: 'x' },
      '{ "n": 1.0 }',
    );
    expect(event).toMatchObject({
      eventType: 'order.paid',
      target: { kind: 'broadcast' },
      idempotencyKey: '/shop 1',
      orderingKey: 'k',
      contentType: null,
      functionFailure: null,
    });
    expect(event.payload.toString()).toBe('{"n":1.0}');
    expect(Object.keys(event.headers).sort()).toEqual(
      ['ce-id', 'ce-partitionkey', 'ce-source', 'ce-specversion', 'ce-type', 'other'].sort(),
    );
  },
);

test('a structured message has its attributes in the body; they may say where it goes', async () => {
  const time = '2026-01-31T15:04:05Z';
  const event = await read(STRUCTURED, { ...cloud, time, data: [1], ownerid: 'ann' });
  expect(event).toMatchObject({
    eventType: 'order.paid',
    target: { kind: 'owner', ownerId: 'ann' },
    acknowledgedAtMs: Date.parse(time),
  });
  expect(event.payload.toString()).toBe('[1]');
  const named = { ...STRUCTURED, 'x-convoy-message-type': 'broadcast' };
  expect(await read(named, { ...cloud, ownerid: 'ann' })).toMatchObject({ target: { kind: 'broadcast' } });
  const xml = await read({ ...binary('ce_'), 'content-type': 'application/xml' }, '<a/>');
  expect(xml).toMatchObject({ contentType: 'application/xml', functionFailure: null });
});

test('the headers of a CloudEvent go before the usual form, which its data may have', async () => {
  const usual = { event_type: 'own', data: 1, owner_id: 'ann' };
  const headers = { ...binary('ce_'), 'x-convoy-message-type': 'fanout' };
  const event = await read({ ...headers, ce_ownerid: 'bob' }, usual);
  expect(event).toMatchObject({ eventType: 'order.paid', target: { kind: 'owner', ownerId: 'bob' } });
  expect(event.payload.toString()).toBe(JSON.stringify(usual));
  const off = await read(headers, usual, { cloudevents: false });
  expect(off).toMatchObject({ eventType: 'own', target: { kind: 'owner', ownerId: 'ann' }, trace: null });
});

test('a CloudEvent continues its own trace', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  const trace = { traceId, spanId: 'b7ad6b7169203331', isSampled: true, state: 'a=1' };
  const event = await read({ ...binary('ce_'), ce_traceparent: traceparent, ce_tracestate: 'a=1' }, '1');
  expect(event.trace).toEqual(trace);
  const other = await read(STRUCTURED, { ...cloud, traceparent: 'no' });
  expect(other).toMatchObject({ trace: null, functionFailure: null });
});

test('a message that is no valid CloudEvent is kept as unreadable, with the reason', async () => {
  const many = Object.fromEntries(Array.from({ length: 97 }, (_, n) => [`ce_a${n}`, '']));
  for (const [headers, body, reason] of [
    [{ ...binary('ce_'), ce_specversion: '0.3' }, '1', 'specversion: must be 1.0, not 0.3'],
    [{ ...binary('ce_'), ce_subject: 'x'.repeat(8_192) }, '1', 'must have at most 8192 bytes together'],
    [{ ...binary('ce_'), ...many }, '1', 'a CloudEvent must have at most 100 attributes'],
    [{ ...binary('ce_'), 'content-type': 'a/b;\n' }, '1', 'datacontenttype: must be a media type'],
    [STRUCTURED, '{', 'The CloudEvent is not JSON.'],
    [STRUCTURED, { ...cloud, type: '' }, 'type: is required in a CloudEvent'],
    [STRUCTURED, { ...cloud, expirytime: '2001-01-01T00:00:00Z' }, 'expirytime: must be in the future'],
    [{}, cloud, 'The message has an unknown field: specversion.'],
  ] as const) {
    const event = await read(headers, body);
    expect(event.eventType).toBe('broker.unreadable');
    expect(event.functionFailure).toContain(reason);
  }
  const off = await read(STRUCTURED, cloud, { cloudevents: false });
  expect(off.functionFailure).toContain('unknown field');
});

test('a message of AMQP has its content type where it is a CloudEvent', () => {
  const headersOf = (contentType: string, headers: object) => {
    const message = { content: Buffer.from('1'), properties: { contentType, headers }, fields: {} };
    return received(message as never).headers;
  };
  expect(headersOf('application/cloudevents+json', {})).toEqual(STRUCTURED);
  expect(headersOf('text/plain', { 'cloudEvents:id': '1' })).toEqual({
    'content-type': 'text/plain',
    'cloudEvents:id': '1',
  });
  expect(headersOf('application/json', { other: 'x' })).toEqual({ other: 'x' });
});
