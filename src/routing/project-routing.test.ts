import { expect, test } from 'vitest';
import { countTurns } from '../../test/support/suite/count-turns.ts';
import { defaultProjectConfig } from '../domain/config/project-config.ts';
import { noConditions, recordsFor } from '../domain/config/subscription.ts';
import { asId } from '../domain/ids.ts';
import { LARGE_JSON } from '../platform/json/parse-in-slices.ts';
import type { EndpointRow } from '../store/config/endpoints.ts';
import type { ProjectRow } from '../store/config/projects.ts';
import type { SubscriptionRow } from '../store/config/subscriptions.ts';
import { eventSubject } from './event-subject.ts';
import { type Matchable, ProjectRouting, STEPS_AT_ONCE } from './project-routing.ts';
import { routeSubscription } from './routed-subscription.ts';

const config = defaultProjectConfig('v', '2026-01-01T00:00:00.000Z');
const project = { id: 'p', version: 1, config } as ProjectRow;

function subscription(id: string, fields: Partial<SubscriptionRow> = {}): SubscriptionRow {
  const row = { event_types: ['*'], filter: noConditions(), source_id: '', ...fields };
  let n = 0;
  const make = { uid: () => `${id}-f${n++}`, enabledAt: '2026-01-01T00:00:00.000Z' };
  return {
    id,
    project_id: 'p',
    status: 'active',
    endpoint_id: 'e',
    retry_config: null,
    filters: recordsFor(row.event_types, [], make),
    ...row,
  } as SubscriptionRow;
}

function routingOf(...rows: SubscriptionRow[]): ProjectRouting {
  const endpoints = new Map([
    ['e', { row: { id: 'e' } as EndpointRow, signer: { headers: () => [] }, limit: null }],
  ]);
  const subscriptions = new Map(rows.map((row) => [row.id, routeSubscription(row, config)]));
  return new ProjectRouting(project, {
    endpoints,
    subscriptions,
    sources: new Map(),
    breakers: new Map(),
    alerts: new Map(),
  });
}

const event = (fields: Partial<Matchable> = {}): Matchable => ({
  target: { kind: 'endpoints', endpointIds: ['e'] },
  eventType: 't',
  sourceId: null,
  payload: Buffer.from('{"a":1}'),
  contentType: null,
  headers: {},
  urlQueryParams: null,
  urlPath: null,
  ...fields,
});
const matched = (routing: ProjectRouting, given: Matchable) => routing.match(given).map(({ row }) => row.id);

test('a subscription of a source gets only the events of that source', () => {
  const routing = routingOf(subscription('1'), subscription('2', { source_id: asId('s') }));
  expect(matched(routing, event())).toEqual(['1']);
  expect(matched(routing, event({ sourceId: 's' }))).toEqual(['1', '2']);
  expect(matched(routing, event({ sourceId: 'other' }))).toEqual(['1']);
});

test('the payload is parsed only if a candidate has conditions on the body', () => {
  const unparsable = event({ payload: Buffer.from('{'), headers: { h: ['1'] } });
  const headers = subscription('1', { filter: { ...noConditions(), headers: { h: '1' } } });
  const otherType = subscription('2', { event_types: ['u'], filter: { ...noConditions(), body: { a: 1 } } });
  const otherSource = subscription('3', {
    source_id: asId('s'),
    filter: { ...noConditions(), body: { a: 1 } },
  });
  expect(matched(routingOf(headers, otherType, otherSource), unparsable)).toEqual(['1']);
  const body = subscription('4', { filter: { ...noConditions(), body: { a: 1 } } });
  expect(() => routingOf(body).match(unparsable)).toThrow(SyntaxError);
});

test('the payload is parsed once for any number of filters', () => {
  const rows = Array.from({ length: 50 }, (_, n) =>
    subscription(String(n).padStart(2, '0'), { filter: { ...noConditions(), body: { a: 1 } } }),
  );
  const given = event();
  let reads = 0;
  const subject = eventSubject({
    ...given,
    get payload() {
      reads += 1;
      return given.payload;
    },
  });
  expect(routingOf(...rows).match(given, subject)).toHaveLength(50);
  expect(reads).toBe(1);
});

test('a payload that is not JSON passes no filter on the body', () => {
  const row = subscription('1', { filter: { ...noConditions(), body: { a: { $neq: 2 } } } });
  expect(matched(routingOf(row), event({ contentType: 'text/xml' }))).toEqual([]);
  expect(matched(routingOf(row), event())).toEqual(['1']);
});

test('records that inherit from their subscription share one compiled filter', () => {
  const row = subscription('1', {
    event_types: ['a', 'b', 'c.*'],
    filter: { ...noConditions(), body: { a: 1 } },
  });
  const [own, ...rest] = row.filters;
  const changed = { ...row, filters: [{ ...own!, own: { body: { a: 2 } } }, ...rest] };
  const { filters } = routeSubscription(changed, config);
  expect(new Set(filters.map((filter) => filter.compiled)).size).toBe(2);
});

test('an invalid stored filter matches nothing', () => {
  const row = subscription('1', { filter: { ...noConditions(), body: { $gone: 1 } } });
  expect(matched(routingOf(row, subscription('2')), event())).toEqual(['2']);
});

test('a version in which no subscription changed shares the index of the previous one', () => {
  const before = routingOf(subscription('1', { event_types: ['t'] }));
  const { endpoints, subscriptions, sources, breakers, alerts } = before;
  const rows = { endpoints, subscriptions, sources, breakers, alerts };
  Object.defineProperty(rows.subscriptions, 'values', {
    value: () => {
      throw new Error('walked');
    },
  });
  expect(() => new ProjectRouting(project, rows)).toThrow('walked');
  const after = new ProjectRouting({ ...project, version: 2 }, rows, before);
  expect(matched(after, event())).toEqual(['1']);
  expect(after.oldestSubscription('e')?.row.id).toBe('1');
});

test('a URL or an owner is looked up without a walk over all endpoints for each event', () => {
  const walks = { count: 0 };
  class Counted<K, V> extends Map<K, V> {
    override values() {
      walks.count += 1;
      return super.values();
    }
  }
  const endpoint = (id: string, url: string, owner_id: string) =>
    [id, { row: { id, url, owner_id } as EndpointRow, signer: { headers: () => [] }, limit: null }] as const;
  const endpoints = new Counted([
    endpoint('first', 'http://a/', 'alice'),
    endpoint('second', 'http://a/', 'bob'),
    endpoint('third', 'http://b/', ''),
  ]);
  const rows = [
    subscription('1', { endpoint_id: asId('second') }),
    subscription('2', { endpoint_id: asId('first') }),
  ];
  const subscriptions = new Map(rows.map((row) => [row.id, routeSubscription(row, config)]));
  const others = { subscriptions, sources: new Map(), breakers: new Map(), alerts: new Map() };
  const routing = new ProjectRouting(project, { endpoints, ...others });
  const at = (url: string) =>
    matched(routing, event({ target: { kind: 'url', url, reason: '' } as Matchable['target'] }));
  for (let n = 0; n < 10; n += 1) {
    expect([at('http://a/'), at('http://b/'), at('http://c/')]).toEqual([['2'], [], []]);
    expect(['alice', 'bob', 'carol'].map((id) => routing.hasOwner(id))).toEqual([true, true, false]);
  }
  const same = new ProjectRouting(project, { endpoints, ...others }, routing);
  expect(same.hasOwner('bob')).toBe(true);
  expect(walks.count).toBe(2);
});

test('filters that cost much are matched in slices, a filter at a time', async () => {
  const text = 'x'.repeat(LARGE_JSON + 1);
  const given = event({ payload: Buffer.from(JSON.stringify({ a: text, list: [1, 2, 3] })) });
  const never = { ...noConditions(), body: { a: { $regex: 'y$' } } };
  const rows = Array.from({ length: 20 }, (_, n) =>
    subscription(String(n).padStart(2, '0'), { filter: never }),
  );
  const last = subscription('20', { filter: { ...noConditions(), body: { list: 3 } } });
  const subject = eventSubject(given);
  const used: number[] = [0];
  const look = () => used.push(subject.meter.used);
  const { result } = await countTurns(() => routingOf(...rows, last).matchInSlices(given, subject), look);
  look();
  expect(result.map(({ row }) => row.id)).toEqual(['20']);
  const filterSteps = text.length + 100;
  expect(subject.meter.used).toBeGreaterThan(20 * text.length);
  const slices = used.slice(1).map((now, n) => now - (used[n] ?? 0));
  expect(Math.max(...slices)).toBeLessThanOrEqual(STEPS_AT_ONCE + filterSteps);
});
