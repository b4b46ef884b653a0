import { describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { type Received, Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';
import { storedRows } from '../../support/stored-rows.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const { endpoint } = await subscribe(app.project, receiver.url, {
  eventTypes: ['order.paid', 'Bestellung.bezahlt ✓'],
  endpoint: {
    authentication: { type: 'api_key', api_key: { header_name: 'X-Api-Key', header_value: 'open sesame' } },
  },
});

const broadcast = (body: unknown, expected = 201) => app.project.post('/events/broadcast', body, expected);

/** Broadcasts and waits for what arrives. */
async function delivered(body: unknown): Promise<{ event: Json; request: Received }> {
  const count = receiver.requests.length + 1;
  const event = await broadcast(body);
  return { event, request: (await receiver.received(count))[count - 1]! };
}

/** How a call changed the number of stored rows, once what came before has settled. */
async function change(call: () => Promise<unknown>): Promise<Record<string, number>> {
  await allDone();
  const before = await storedRows(app.database);
  await call();
  const after = await storedRows(app.database);
  const changed = Object.entries(after).filter(([name, value]) => value !== before[name]);
  return Object.fromEntries(changed.map(([name, value]) => [name, Number(value) - Number(before[name])]));
}

const allDone = () =>
  eventually(() => app.database.query('select count(*)::int as open from delivery_queue'), [{ open: 0 }]);

describe('a broadcast', () => {
  // differs Events and deliveries: An event is stored, matched and readable when the call answers; Convoy queues
  //   it. Accepted means durable.
  test('returns the event, which can be read at once and lists its endpoints', async () => {
    const { event } = await delivered({
      event_type: 'order.paid',
      data: { order: 7 },
      custom_headers: { 'X-Trace': 'abc' },
      acknowledged_at: '2026-01-02T03:04:05.678Z',
      metadata: 'free text',
    });
    expect(event).toMatchObject({
      project_id: app.projectId,
      event_type: 'order.paid',
      status: 'Success',
      endpoints: [endpoint.uid],
      headers: { 'X-Trace': ['abc'] },
      data: { order: 7 },
      raw: '{"order":7}',
      metadata: 'free text',
      is_duplicate_event: false,
      acknowledged_at: '2026-01-02T03:04:05.678Z',
      deleted_at: null,
    });
    expect(await app.project.get(`/events/${event.uid}`)).toMatchObject(event);
  });

  // differs Events and deliveries: An unmatched event is `Failure` with `failure_reason`. Nothing vanishes.
  test('without a match is stored as a failure with the reason', async () => {
    const made = await change(() => broadcast({ event_type: 'order.lost', data: {} }));
    expect(made).toEqual({ events: 1 });
    const [event] = (await app.project.get('/events?perPage=1')).content;
    expect(event).toMatchObject({ status: 'Failure', failure_reason: expect.any(String), endpoints: [] });
  });

  test.each([
    ['numbers as written', '{"a":1.0,"b":1e400,"c":12345678901234567890,"d":-0,"e":0.10,"f":1E+2}'],
    ['the order of keys and keys given twice', '{"z":1,"a":2,"10":3,"9":4,"z":5}'],
    [
      'text of every script, escaped or not',
      '{"x":"Ä 漢字 📯 \\u00e4 \\ud83d\\udcef \\/ \\u2028","ключ":"✓"}',
    ],
    ['a zero character and a lone surrogate', '{"nul":"\\u0000","half":"\\ud800"}'],
    ['an array', '[1,[],{},[[]],null]'],
    ['a string', '"just text"'],
    ['a number', '0.0'],
    ['null', 'null'],
    ['an empty object', '{}'],
    ['nesting as deep as allowed', '['.repeat(99) + ']'.repeat(99)],
    ['names that mean something elsewhere', '{"__proto__":{"x":1},"constructor":1,"toJSON":2}'],
  ])('is delivered byte for byte: %s', async (_, text) => {
    const { event, request } = await delivered(`{ "event_type" : "order.paid",\n "data" : ${text} }`);
    expect(request.body.toString()).toBe(text);
    expect(request.headers['content-type']).toBe('application/json');
    expect(request.headers['content-length']).toBe(String(Buffer.byteLength(text)));
    const answer = await app.project.raw('GET', `/events/${event.uid}`);
    expect(await answer.text()).toContain(`"data":${text},`);
    expect(event.raw).toBe(text);
  });

  test('loses only its insignificant whitespace', async () => {
    const { request } = await delivered('{"event_type":"order.paid","data":\t{ "a b" : [ 1 , "c  d" ]\r\n}}');
    expect(request.body.toString()).toBe('{"a b":[1,"c  d"]}');
  });

  test('of an event type in any script reaches its subscription', async () => {
    const { event } = await delivered({ event_type: 'Bestellung.bezahlt ✓', data: {} });
    expect(event.event_type).toBe('Bestellung.bezahlt ✓');
  });

  test('that cannot be stored fails alone among many that arrive with it', async () => {
    const many = Array.from({ length: 40 }, (_, n) => ({
      event_type: 'order.paid',
      data: n,
      ...(n === 17 && { metadata: 'zero \u0000' }),
    }));
    const before = receiver.requests.length;
    const answers = await Promise.all(
      many.map((body) => app.project.raw('POST', '/events/broadcast', { body })),
    );
    expect(answers.map(({ status }) => status)).toEqual(many.map((_, n) => (n === 17 ? 400 : 201)));
    await receiver.received(before + 39);
    expect(receiver.requests.slice(before).map(({ json }) => json)).not.toContain(17);
  });

  test.each([
    [{ data: {} }, 'event_type'],
    [{ event_type: '', data: {} }, 'event_type'],
    [{ event_type: 'x'.repeat(257), data: {} }, 'event_type'],
    [{ event_type: 7, data: {} }, 'event_type'],
    [{ event_type: 'order.paid' }, 'data'],
    [{ event_type: 'order.paid', data: {}, idempotency_key: 7 }, 'idempotency_key'],
    [{ event_type: 'order.paid', data: {}, idempotency_key: 'k'.repeat(513) }, 'idempotency_key'],
    [{ event_type: 'order.paid', data: {}, acknowledged_at: 'now' }, 'acknowledged_at'],
    [{ event_type: 'order.paid', data: {}, acknowledged_at: '2016-12-31T23:59:60Z' }, 'acknowledged_at'],
    [{ event_type: 'order.paid', data: {}, custom_headers: { a: 1 } }, 'custom_headers.a'],
    [{ event_type: 'order.paid', data: {}, custom_headers: [] }, 'custom_headers'],
  ])('is refused as %j', async (body, field) => {
    let answer: Json;
    const made = await change(async () => {
      answer = await broadcast(body, 400);
    });
    expect(made).toEqual({});
    expect(answer.message).toContain(`${field}: `);
  });

  test.each([{ event_type: 'zero \u0000' }, { idempotency_key: 'zero \u0000' }, { metadata: 'zero \u0000' }])(
    'with a zero character outside the payload is refused: %j',
    async (fields) => {
      const made = await change(() => broadcast({ event_type: 'order.paid', data: {}, ...fields }, 400));
      expect(made).toEqual({});
    },
  );

  // proves Projects: max_payload_read_size
  test('larger than the project allows is 413', async () => {
    await app.project.put('', { name: 'default', config: { max_payload_read_size: 64 } });
    const sized = (bytes: number) => ({ event_type: 'order.paid', data: 'x'.repeat(bytes - 2) });
    let answer: Json;
    const made = await change(async () => {
      answer = await broadcast(sized(65), 413);
    });
    expect(made).toEqual({});
    expect(answer.message).toBe(
      'The payload is larger than 64 bytes, the limit that max_payload_read_size of the project sets.',
    );
    await delivered(sized(64));
    await app.project.put('', { name: 'default', config: { max_payload_read_size: 1_048_576 } });
  });
});

describe('custom headers', () => {
  // differs Events and deliveries: `custom_headers` that are no legal header, or belong to the connection
  //   (`Host`, `Expect` and others), are 400. They could not be sent.
  test('are sent with the delivery but replace no signature, credential or connection header', async () => {
    const custom_headers = {
      'X-Trace': 'abc',
      'User-Agent': 'mine',
      'content-type': 'text/plain',
      'X-API-KEY': 'stolen',
      'Webhook-Signature': 'forged',
      'x-convoy-signature': 'forged',
      'x-convoy-idempotency-key': 'forged',
    };
    const { request } = await delivered({
      event_type: 'order.paid',
      data: {},
      custom_headers,
      idempotency_key: 'the real key',
    });
    expect(request.headers).toMatchObject({
      'x-trace': 'abc',
      'user-agent': 'mine',
      'content-type': 'application/json',
      'x-api-key': 'open sesame',
      'x-convoy-idempotency-key': 'the real key',
      'webhook-signature': expect.stringMatching(/^v1,/),
      'x-convoy-signature': expect.stringMatching(/^t=/),
    });
  });

  test.each([
    ['Host', 'example.org'],
    ['content-length', '5'],
    ['Connection', 'close'],
    ['Transfer-Encoding', 'chunked'],
    ['Keep-Alive', '1'],
    ['Upgrade', 'h2c'],
    ['TE', 'trailers'],
    ['Expect', '100-continue'],
    ['Proxy-Authenticate', 'Basic'],
    ['two words', 'x'],
    ['', 'x'],
    ['näme', 'x'],
    ['line\nbreak', 'x'],
    ['X-Line', 'a\r\nX-Smuggled: 1'],
    ['X-Zero', '\u0000'],
    ['X-Wide', '漢'],
  ])('%j: %j is refused', async (name, value) => {
    let answer: Json;
    const made = await change(async () => {
      answer = await broadcast(
        { event_type: 'order.paid', data: {}, custom_headers: { [name]: value } },
        400,
      );
    });
    expect(made).toEqual({});
    expect(answer.message).toMatch(/^custom_headers\./);
  });
});

describe('an idempotency key', () => {
  // differs Events and deliveries: A repeated idempotency key answers 201 with `is_duplicate_event: true` on
  //   every event call. `duplicates=false` leaves repeats out of a list.
  test('used again creates a duplicate that is stored and not sent', async () => {
    const body = { event_type: 'order.paid', data: { n: 1 }, idempotency_key: 'twice ✓' };
    const { event } = await delivered(body);
    const again = await broadcast({ ...body, data: { n: 2 } });
    expect(again).toMatchObject({
      is_duplicate_event: true,
      status: 'Success',
      endpoints: [],
      data: { n: 2 },
    });
    expect(again.uid).not.toBe(event.uid);
    expect(await app.project.get(`/events/${again.uid}`)).toMatchObject(again);
    const both = await app.project.get(`/events?idempotencyKey=${encodeURIComponent('twice ✓')}`);
    expect(both.content.map((row: Json) => row.is_duplicate_event)).toEqual([true, false]);
    const listed = async (duplicates: string) =>
      (
        await app.project.get(
          `/events?idempotencyKey=${encodeURIComponent('twice ✓')}&duplicates=${duplicates}`,
        )
      ).content.map((row: Json) => row.uid);
    expect(await listed('false')).toEqual([event.uid]);
    expect(await listed('true')).toEqual([again.uid, event.uid]);
    await app.project.get('/events?duplicates=maybe', 400);
    expect((await app.project.get(`/eventdeliveries?eventId=${again.uid}`)).content).toEqual([]);
  });

  test('used fifty times at once, over two nodes, has one winner and one delivery', async () => {
    const node = await app.addNode();
    const paths = [app.url, node.url].map(
      (url) => `${url}/api/v1/projects/${app.projectId}/events/broadcast`,
    );
    const body = JSON.stringify({
      event_type: 'order.paid',
      data: 'fifty',
      idempotency_key: 'fifty at once',
    });
    const headers = { authorization: app.project.key, 'content-type': 'application/json' };
    const before = receiver.requests.length;
    const calls = Array.from({ length: 50 }, (_, n) =>
      fetch(paths[n % 2]!, { method: 'POST', headers, body }),
    );
    const answers = (await Promise.all((await Promise.all(calls)).map((answer) => answer.json()))) as Json[];
    expect(answers.filter(({ data }) => data.is_duplicate_event === false)).toHaveLength(1);
    const winner = answers.find(({ data }) => !data.is_duplicate_event).data;
    const { content } = await app.project.get('/eventdeliveries?idempotencyKey=fifty%20at%20once');
    expect(content.map((row: Json) => row.event_id)).toEqual([winner.uid]);
    await receiver.received(before + 1);
    await allDone();
    expect(receiver.requests.slice(before).map(({ json }) => json)).toEqual(['fifty']);
    await node.stop();
  });

  test.each([
    ['plain-1:2 3', 'plain-1:2 3'],
    ['schlüssel ✓', 'schl%C3%BCssel%20%E2%9C%93'],
    ['two\nlines', 'two%0Alines'],
    ['half \ud800', 'half%20%EF%BF%BD'],
  ])('like %j is sent in a form that a header can carry', async (idempotency_key, sent) => {
    const { request } = await delivered({ event_type: 'order.paid', data: {}, idempotency_key });
    expect(request.headers['x-convoy-idempotency-key']).toBe(sent);
  });

  test('that is empty or null counts as absent', async () => {
    for (const idempotency_key of ['', null]) {
      await delivered({ event_type: 'order.paid', data: 1, idempotency_key });
      const { event } = await delivered({ event_type: 'order.paid', data: 2, idempotency_key });
      expect(event).toMatchObject({ is_duplicate_event: false, idempotency_key: '' });
    }
  });
});

describe('an event for one endpoint', () => {
  test('goes only there, through one catch-all subscription', async () => {
    const target = await app.project.post('/endpoints', { name: 'direct', url: receiver.url });
    const before = receiver.requests.length;
    const calls = Array.from({ length: 5 }, (_, n) =>
      app.project.post('/events', { endpoint_id: target.uid, event_type: 'order.paid', data: n }),
    );
    const events = await Promise.all(calls);
    expect(events.map((event) => event.endpoints)).toEqual(events.map(() => [target.uid]));
    await receiver.received(before + 5);
    expect(
      receiver.requests
        .slice(before)
        .map(({ json }) => json)
        .sort((x, y) => x - y),
    ).toEqual([0, 1, 2, 3, 4]);
    const { content } = await app.project.get(`/subscriptions?endpointId=${target.uid}`);
    expect(content).toMatchObject([{ filter_config: { event_types: ['*'] } }]);
  });

  test('that matches none of its subscriptions is stored as a failure', async () => {
    const event = await app.project.post('/events', {
      endpoint_id: endpoint.uid,
      event_type: 'unwanted',
      data: {},
    });
    expect(event).toMatchObject({ status: 'Failure', endpoints: [] });
  });

  // proves Endpoints: app_id
  test('may name its endpoint by app_id, and must name one', async () => {
    const target = await app.project.post('/endpoints', {
      name: 'by app',
      url: receiver.url,
      app_id: 'app-7',
    });
    const before = receiver.requests.length;
    const event = await app.project.post('/events', { app_id: 'app-7', event_type: 'x', data: {} });
    expect(event).toMatchObject({ app_id: 'app-7', endpoints: [target.uid] });
    await receiver.received(before + 1);
    const made = await change(() => app.project.post('/events', { event_type: 'x', data: {} }, 400));
    expect(made).toEqual({});
  });
});
