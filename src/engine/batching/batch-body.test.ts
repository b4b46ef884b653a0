import { expect, test } from 'vitest';
import { leasedDelivery } from '../../../test/support/samples/leased-delivery.ts';
import { routingOf } from '../../../test/support/samples/routing.ts';
import { batchOf, batchRefusal, USUAL_BATCH } from '../../domain/config/batch.ts';
import type { EndpointSecrets } from '../../domain/config/endpoint.ts';
import { idTime } from '../../domain/ids.ts';
import { formatTime } from '../../domain/time.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { batchBody } from './batch-body.ts';

const sealer = {} as Sealer;

function endpointWith(endpoint: Partial<EndpointRow>, broker?: { type: string }): EndpointRow {
  const secrets = broker === undefined ? {} : { broker };
  const found = routingOf({ endpoint, secrets: secrets as Partial<EndpointSecrets> }).endpoints.get('e');
  if (found === undefined) throw new Error('no endpoint');
  return found.row;
}

const objectStore = endpointWith({ delivery: 'broker' }, { type: 's3' });
const kafka = endpointWith({ delivery: 'broker' }, { type: 'kafka' });
const BATCH = { ...USUAL_BATCH, max: 2, max_bytes: 10, max_wait_seconds: 1 };

test('an object store gets one JSON object per line, whatever white space a payload has', () => {
  const members = [
    leasedDelivery({ id: 'first', body: Buffer.from('{\n  "a": "x\\ny",\r\n  "b": 1.50\n}') }),
    leasedDelivery({ id: 'second', body: Buffer.from('plain'), contentType: 'text/plain' }),
  ];
  const { body, contentType } = batchBody(members, objectStore, { sealer });
  expect(contentType).toBe('application/x-ndjson');
  const timestamp = formatTime(idTime(members[0]?.eventId ?? ''));
  const lines = body.toString().split('\n');
  expect(lines.at(-1)).toBe('');
  expect(lines.slice(0, -1).map((line) => JSON.parse(line) as unknown)).toEqual([
    { id: 'first', type: 'order.paid', timestamp, data: { a: 'x\ny', b: 1.5 } },
    { id: 'second', type: 'order.paid', timestamp, data: 'plain' },
  ]);
  expect(lines[0]).toContain('1.50');
});

test('the id of an element is that of the event where the endpoint wants that', () => {
  const member = leasedDelivery();
  const { body } = batchBody([member], endpointWith({ webhook_id: 'event' }), { sealer });
  expect(JSON.parse(body.toString())).toMatchObject([{ id: member.eventId }]);
});

test('an object store always has batches, an endpoint with a URL those that are given, and others none', () => {
  const push = endpointWith({});
  const pull = endpointWith({ delivery: 'pull' });
  const few = { max: 1_000, max_bytes: 5_000_000, max_wait_seconds: 60 };
  expect(batchOf(null, objectStore)).toEqual({ ...USUAL_BATCH, ...few });
  expect([push, objectStore].map((row) => batchOf(BATCH, row))).toEqual([BATCH, BATCH]);
  expect([batchOf(null, push), batchOf(BATCH, kafka), batchOf(BATCH, pull)]).toEqual([null, null, null]);
  expect([push, objectStore].map(batchRefusal)).toEqual([null, null]);
  expect(batchRefusal(kafka)).toContain('message of its own');
  expect(batchRefusal(pull)).toContain('pull endpoint');
});
