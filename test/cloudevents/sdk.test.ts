import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CloudEvent, emitterFor, HTTP, httpTransport, type Message, Mode } from 'cloudevents';
import { describe, expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { type Received, Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { needs } from '../support/suite/parts.ts';

/** The official libraries of CloudEvents as senders and as receivers. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let paths = 0;

/** A project whose endpoints get each event, one in each form. */
async function scene() {
  const client = await app.newProject();
  const base = `/${++paths}`;
  for (const cloudevents of ['binary', 'structured'])
    await subscribe(client, `${receiver.url}${base}/${cloudevents}`, { endpoint: { cloudevents } });
  const next = (form: string, count: number) => receiver.received(count, `${base}/${form}`);
  return { client, next };
}

const TIME = '2026-01-31T15:04:05.000Z';
const attributes = {
  id: 'A-1',
  source: '/shop/orders',
  type: 'order.paid',
  time: TIME,
  subject: 'größe "1" 100%',
  partitionkey: 'customer 7',
};

describe('the JavaScript SDK', () => {
  const send = (client: ApiClient, { headers, body }: Message) =>
    client.raw('POST', '/events/broadcast', { body, headers: headers as Record<string, string> });
  const read = ({ headers, body }: Received) =>
    HTTP.toEvent<Json>({ headers, body: body.toString() }) as CloudEvent<Json>;

  test('sends events in each form, and reads what is delivered', async () => {
    const { client, next } = await scene();
    const event = (id: string, data: unknown = { n: 1 }) => new CloudEvent({ ...attributes, id, data });
    for (const message of [HTTP.structured(event('1')), HTTP.binary(event('2'))])
      expect((await send(client, message)).status).toBe(201);
    const headers = { 'content-type': 'application/cloudevents-batch+json' };
    const batch = { headers, body: JSON.stringify([event('3'), event('4', 'text')]) };
    expect((await send(client, batch)).status).toBe(200);
    for (const form of ['binary', 'structured']) {
      const events = (await next(form, 4)).map(read).sort((a, b) => (a.id < b.id ? -1 : 1));
      expect(events.map(({ id }) => id)).toEqual(['1', '2', '3', '4']);
      for (const one of events) {
        expect(one.validate()).toBe(true);
        // This SDK does not decode the values of headers, which the binding of HTTP has percent-encoded.
        const text = (value: unknown) => (form === 'binary' ? decodeURIComponent(String(value)) : value);
        const { subject, partitionkey } = one;
        const decoded = { ...one.toJSON(), subject: text(subject), partitionkey: text(partitionkey) };
        expect(decoded).toMatchObject({ ...attributes, id: one.id, datacontenttype: 'application/json' });
      }
      expect(events.map(({ data }) => data)).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }, 'text']);
    }
  });

  test('emits to a source, and reads an event that was sent as plain JSON', async () => {
    const { client, next } = await scene();
    const source = await httpSource(client);
    for (const [mode, id] of [
      [Mode.BINARY, '1'],
      [Mode.STRUCTURED, '2'],
    ] as const)
      await emitterFor(httpTransport(source.url), { mode })(
        new CloudEvent({ ...attributes, id, data: [id] }),
      );
    const { content } = await client.get('/events?sort=ASC');
    expect(content).toMatchObject([
      { event_type: 'order.paid', data: ['1'], ordering_key: 'customer 7', acknowledged_at: TIME },
      { event_type: 'order.paid', data: ['2'], ordering_key: 'customer 7', acknowledged_at: TIME },
    ]);
    const plain = await client.post('/events/broadcast', { event_type: 'plain', data: { n: 2 } });
    for (const form of ['binary', 'structured']) {
      const [event] = (await next(form, 3)).map(read).filter(({ type }) => type === 'plain');
      expect(event).toMatchObject({ id: plain.uid, specversion: '1.0', data: { n: 2 } });
    }
  });
});

/** `send` posts an event in each form; `read` prints the events of requests. */
const PYTHON = `
import base64, json, sys, urllib.request
from datetime import datetime, timezone
from cloudevents.core.bindings import http
from cloudevents.core.v1.event import CloudEvent

given = json.loads(sys.argv[1])

def send(headers, body):
    if given["key"]:
        headers["authorization"] = given["key"]
    request = urllib.request.Request(given["url"], data=body, headers=headers, method="POST")
    with urllib.request.urlopen(request) as response:
        return response.status

def made(id):
    time = datetime(2026, 1, 31, 15, 4, 5, tzinfo=timezone.utc)
    return CloudEvent(attributes={**given["attributes"], "id": id, "time": time, "datacontenttype": "application/json"}, data={"n": 1})

if given["act"] == "send":
    messages = [http.to_structured_event(made("1")), http.to_binary_event(made("2"))]
    statuses = [send(dict(one.headers), one.body) for one in messages]
    many = [json.loads(http.to_structured_event(made(id)).body) for id in ["3", "4"]]
    batch = {"content-type": "application/cloudevents-batch+json"}
    statuses.append(send(batch, json.dumps(many).encode()))
    print(json.dumps(statuses))
else:
    events = []
    for one in given["requests"]:
        message = http.HTTPMessage(headers=one["headers"], body=base64.b64decode(one["body"]))
        event = http.from_http_event(message)
        events.append({**event.get_attributes(), "data": event.get_data()})
    print(json.dumps(events, default=lambda time: time.isoformat()))
`;

describe('the Python SDK', needs('pythonCloudEvents'), () => {
  const run = async (given: object): Promise<Json> => {
    const { stdout } = await promisify(execFile)('python3', ['-c', PYTHON, JSON.stringify(given)]);
    return JSON.parse(stdout) as Json;
  };

  test('sends events in each form to a call and to a source, and reads what is delivered', async () => {
    const { client, next } = await scene();
    const { time: _time, id: _id, ...others } = attributes;
    const url = `${client.base}/events/broadcast`;
    expect(await run({ act: 'send', url, key: `Bearer ${client.key}`, attributes: others })).toEqual([
      201, 201, 200,
    ]);
    const source = await httpSource(client);
    expect(await run({ act: 'send', url: source.url, key: '', attributes: others })).toEqual([200, 200, 200]);
    expect((await client.get(`/events?sourceId=${source.uid}`)).content).toHaveLength(4);
    for (const form of ['binary', 'structured']) {
      const requests = (await next(form, 8)).map(({ headers, body }) => ({
        headers,
        body: body.toString('base64'),
      }));
      const events: Json[] = await run({ act: 'read', requests });
      expect(events.map(({ id }) => String(id)).sort()).toEqual(['1', '1', '2', '2', '3', '3', '4', '4']);
      for (const event of events)
        expect(event).toMatchObject({ ...others, time: '2026-01-31T15:04:05+00:00', data: { n: 1 } });
    }
  });
});
