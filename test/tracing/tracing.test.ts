import { expect, onTestFinished, test } from 'vitest';
import { httpSource, startTestApp, subscribe, type TestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type CollectedSpan, Collector } from '../support/servers/collector.ts';
import { listenTcp } from '../support/servers/loopback-server.ts';
import { Receiver } from '../support/servers/receiver.ts';

interface Scene {
  app: TestApp;
  receiver: Receiver;
  collector: Collector;
}

/** A node that traces, unless `env` says otherwise, an endpoint that hears everything, and the collector. */
async function scene(env: Record<string, string> = {}): Promise<Scene> {
  const collector = await Collector.start();
  onTestFinished(() => collector.stop());
  const app = await startTestApp({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env });
  onTestFinished(app.stop);
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  return { app, receiver, collector };
}

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE_ID}-${CALLER}-01`;
const [SERVER, INTERNAL, CLIENT] = [2, 1, 3];

function sendEvent(app: TestApp, headers: Record<string, string> = {}, body: object = {}): Promise<Json> {
  return app.project.call('POST', '/events/broadcast', {
    body: { event_type: 'order.paid', data: { card: '4242-4242' }, ...body },
    expected: 201,
    headers,
  });
}

const spansOf = (collector: Collector, satisfied: (spans: CollectedSpan[]) => boolean) =>
  eventually(async () => collector.spans, satisfied);

const deliverSpans = (spans: CollectedSpan[]) => spans.filter((span) => span.name === 'deliver event');
const named = (spans: CollectedSpan[], part: string): CollectedSpan =>
  spans.find((span) => span.name.includes(part)) as CollectedSpan;

// proves Instance: OTEL_EXPORTER_OTLP_ENDPOINT
test('an event is one trace from the request through its acceptance to the attempt and the endpoint', async () => {
  const { app, receiver, collector } = await scene();
  const { endpoint, subscription } = await subscribe(app.project, `${receiver.url}/hook?token=t0ps3cret`, {
    endpoint: {
      secret: 'wh1sper3d',
      authentication: { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'k3yv4lue' } },
    },
  });
  const event = await sendEvent(app, { traceparent: TRACEPARENT, tracestate: 'vendor=value' });
  const spans = await spansOf(collector, (all) => deliverSpans(all).length > 0);
  const request = named(spans, 'POST /api/v1/projects/:projectID/events/broadcast');
  const accept = named(spans, 'accept event');
  const attempt = named(spans, 'deliver event');

  expect([request, accept, attempt].map(({ kind }) => kind)).toEqual([SERVER, INTERNAL, CLIENT]);
  expect([request, accept, attempt].map(({ traceId }) => traceId)).toEqual([TRACE_ID, TRACE_ID, TRACE_ID]);
  expect(request.parentSpanId).toBe(CALLER);
  expect(accept.parentSpanId).toBe(request.spanId);
  expect(attempt.parentSpanId).toBe(accept.spanId);
  expect(new Set([CALLER, request.spanId, accept.spanId, attempt.spanId]).size).toBe(4);
  expect([request, accept, attempt].map(({ traceState }) => traceState)).toEqual(
    Array.from({ length: 3 }, () => 'vendor=value'),
  );
  for (const span of [request, accept, attempt]) {
    expect(span.endNanos >= span.startNanos).toBe(true);
    expect(span.error).toBeUndefined();
    expect(span.resource).toMatchObject({ 'service.name': 'posthorn' });
  }

  const [received] = await receiver.received(1);
  expect(received?.headers['traceparent']).toBe(`00-${TRACE_ID}-${attempt.spanId}-01`);
  expect(received?.headers['tracestate']).toBe('vendor=value');

  expect(request.attributes).toMatchObject({
    'http.request.method': 'POST',
    'http.response.status_code': 201,
    'posthorn.project.id': app.projectId,
  });
  expect(accept.attributes).toMatchObject({
    'posthorn.project.id': app.projectId,
    'posthorn.event.id': event.uid,
    'posthorn.event.type': 'order.paid',
  });
  const [delivery] = (await app.project.get(`/eventdeliveries?eventId=${event.uid}`)).content;
  expect(attempt.attributes).toMatchObject({
    'http.response.status_code': 200,
    'server.address': '127.0.0.1',
    'posthorn.project.id': app.projectId,
    'posthorn.event.id': event.uid,
    'posthorn.event.type': 'order.paid',
    'posthorn.delivery.id': delivery.uid,
    'posthorn.endpoint.id': endpoint.uid,
    'posthorn.subscription.id': subscription.uid,
    'posthorn.attempt.number': 1,
  });

  const sent = collector.requests.map(({ body }) => body).join('\n');
  for (const secret of ['4242-4242', 't0ps3cret', 'wh1sper3d', 'k3yv4lue', app.project.key]) {
    expect(sent).not.toContain(secret);
  }
  expect(collector.problems).toEqual([]);
});

test('a retry on another node, after the accepting one has ended, is part of the same trace', async () => {
  const { app, receiver, collector } = await scene({ POSTHORN_ROLES: 'api,ingest' });
  receiver.answerNext(500);
  await subscribe(app.project, receiver.url, {
    subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 3 } },
  });
  await sendEvent(app, { traceparent: TRACEPARENT });
  await app.app.stop();
  await app.addNode({ POSTHORN_ROLES: 'deliver' });
  const spans = await spansOf(collector, (all) => deliverSpans(all).length === 2);
  const accept = named(spans, 'accept event');
  const attempts = deliverSpans(spans);
  expect(attempts.map(({ attributes }) => attributes['posthorn.attempt.number'])).toEqual([1, 2]);
  expect(attempts.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([500, 200]);
  expect(attempts.map(({ error }) => error !== undefined)).toEqual([true, false]);
  for (const attempt of attempts) {
    expect([attempt.traceId, attempt.parentSpanId]).toEqual([TRACE_ID, accept.spanId]);
    expect(attempt.resource['service.instance.id']).not.toBe(accept.resource['service.instance.id']);
  }
  expect((await receiver.received(2)).map(({ headers }) => headers['traceparent'])).toEqual(
    attempts.map(({ spanId }) => `00-${TRACE_ID}-${spanId}-01`),
  );
});

test('an incoming webhook forwards its trace, whether or not its source lists the headers', async () => {
  const { app, receiver, collector } = await scene();
  const source = await httpSource(app.project);
  await subscribe(app.project, receiver.url, { subscription: { source_id: source.uid } });
  await fetch(source.url, {
    method: 'POST',
    body: '{}',
    headers: { traceparent: TRACEPARENT, 'x-other': '1' },
  });
  const spans = await spansOf(collector, (all) => deliverSpans(all).length > 0);
  expect(named(spans, 'POST /ingest/').parentSpanId).toBe(CALLER);
  expect(named(spans, 'POST /ingest/').attributes).toMatchObject({
    'posthorn.project.id': app.projectId,
    'posthorn.source.id': source.uid,
  });
  const [received] = await receiver.received(1);
  const [attempt] = deliverSpans(spans);
  expect(received?.headers['traceparent']).toBe(`00-${TRACE_ID}-${attempt?.spanId}-01`);
  expect(received?.headers['x-other']).toBeUndefined();
});

// proves Instance: OTEL_TRACES_SAMPLER_ARG
test('an event without a trace begins one, for the share in OTEL_TRACES_SAMPLER_ARG', async () => {
  const all = await scene();
  await subscribe(all.app.project, all.receiver.url);
  await sendEvent(all.app);
  const spans = await spansOf(all.collector, (some) => deliverSpans(some).length > 0);
  const request = named(spans, 'events/broadcast');
  expect(request.parentSpanId).toBeUndefined();
  expect(named(spans, 'deliver event').traceId).toBe(request.traceId);

  const none = await scene({ OTEL_TRACES_SAMPLER_ARG: '0' });
  await subscribe(none.app.project, none.receiver.url);
  await sendEvent(none.app);
  await sendEvent(none.app, { traceparent: TRACEPARENT });
  // The trace that came along is recorded all the same, and nothing else is.
  await spansOf(none.collector, (some) => deliverSpans(some).length > 0);
  expect(none.collector.spans.map(({ traceId }) => traceId)).toEqual([TRACE_ID, TRACE_ID, TRACE_ID]);
  const received = await none.receiver.received(2);
  expect(new Set(received.map(({ headers }) => headers['traceparent']?.slice(3, 35)))).toEqual(
    new Set([TRACE_ID, undefined]),
  );
});

test('a trace whose caller does not record it is passed on and not exported', async () => {
  const { app, receiver, collector } = await scene();
  await subscribe(app.project, receiver.url);
  const unsampled = TRACEPARENT.replace(/01$/, '00');
  await sendEvent(app, { traceparent: unsampled, tracestate: 'a=1' });
  const [received] = await receiver.received(1);
  expect([received?.headers['traceparent'], received?.headers['tracestate']]).toEqual([unsampled, 'a=1']);
  await app.app.stop();
  expect(collector.spans.filter(({ traceId }) => traceId === TRACE_ID)).toEqual([]);
  expect(collector.spans.length).toBeGreaterThan(0);
});

test('without a collector a trace of the request is passed on unchanged, and none is begun', async () => {
  const { app, receiver, collector } = await scene({ OTEL_EXPORTER_OTLP_ENDPOINT: '' });
  await subscribe(app.project, receiver.url);
  await sendEvent(app, { traceparent: TRACEPARENT, tracestate: 'a=1,b=2' });
  await sendEvent(app, {}, { custom_headers: { 'X-Mine': 'yes' } });
  await sendEvent(app, { traceparent: '00-not-a-trace-01', tracestate: 'a=1' });
  const received = await receiver.received(3);
  const traces = received.map(({ headers }) => [headers['traceparent'], headers['tracestate']]);
  expect(traces).toContainEqual([TRACEPARENT, 'a=1,b=2']);
  expect(traces.filter(([traceparent]) => traceparent === undefined)).toEqual([
    [undefined, undefined],
    [undefined, undefined],
  ]);
  expect(collector.requests).toEqual([]);
});

test('a trace given for the event overrides that of the request, and is not a header of the event', async () => {
  const { app, receiver } = await scene({ OTEL_EXPORTER_OTLP_ENDPOINT: '' });
  await subscribe(app.project, receiver.url);
  const own = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  await sendEvent(
    app,
    { traceparent: TRACEPARENT, tracestate: 'a=1' },
    { custom_headers: { TraceParent: own, 'X-Mine': 'yes' } },
  );
  const event = await sendEvent(app, { traceparent: TRACEPARENT }, { custom_headers: { 'X-Mine': 'yes' } });
  const received = await receiver.received(2);
  expect(received.map(({ headers }) => headers['x-mine'])).toEqual(['yes', 'yes']);
  expect(new Set(received.map(({ headers }) => headers['traceparent']))).toEqual(new Set([TRACEPARENT, own]));
  expect((await app.project.get(`/events/${event.uid}`)).headers).toEqual({ 'X-Mine': ['yes'] });
});

test('a replay is part of the event’s trace and has all its headers', async () => {
  const { app, receiver } = await scene({ OTEL_EXPORTER_OTLP_ENDPOINT: '' });
  const source = await app.project.post('/sources', {
    name: 'source',
    type: 'rest_api',
    header_function:
      'function transform(headers) { if (!headers["X-Mine"]) throw new Error("no"); return headers; }',
  });
  await subscribe(app.project, receiver.url);
  const event = await sendEvent(
    app,
    { traceparent: TRACEPARENT },
    { custom_headers: { 'X-Other': 'yes' }, source_id: source.uid },
  );
  expect((await app.project.get(`/events/${event.uid}`)).status).toBe('Failure');
  await app.project.put(`/sources/${source.uid}`, {
    name: 'source',
    type: 'rest_api',
    header_function: 'function transform(headers) { headers["X-Mine"] = "made"; return headers; }',
  });
  await app.project.put(`/events/${event.uid}/replay`, undefined, 200);
  await app.project.put(`/events/${event.uid}/replay`, undefined, 200);
  const received = await receiver.received(2);
  expect(received.map(({ headers }) => [headers['x-other'], headers['x-mine']])).toEqual([
    ['yes', 'made'],
    ['yes', 'made'],
  ]);
  expect(received.map(({ headers }) => headers['traceparent'])).toEqual([TRACEPARENT, TRACEPARENT]);
});

// proves Instance: OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME
test('the collector gets the configured service name and headers', async () => {
  const { app, collector } = await scene({
    OTEL_SERVICE_NAME: 'webhooks',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b, x-team=c',
  });
  await app.project.get('/events');
  await app.app.stop();
  expect(collector.spans[0]?.resource).toMatchObject({
    'service.name': 'webhooks',
    'service.instance.id': app.app.engine.nodeId,
  });
  expect(collector.requests[0]?.headers).toMatchObject({ 'x-key': 'a b', 'x-team': 'c' });
});

test('a collector URL with a password in it is refused at the start', async () => {
  const started = startTestApp({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me:s3cret@127.0.0.1:4318' });
  await expect(started).rejects.toThrow(/^OTEL_EXPORTER_OTLP_ENDPOINT cannot be used/);
  await expect(started).rejects.not.toThrow(/s3cret/);
});

test('spans that wait are sent when the node stops', async () => {
  const { app, receiver, collector } = await scene();
  await subscribe(app.project, receiver.url);
  await Promise.all(Array.from({ length: 50 }, () => sendEvent(app)));
  await receiver.received(50);
  await app.app.stop();
  expect(deliverSpans(collector.spans)).toHaveLength(50);
  expect(collector.problems).toEqual([]);
});

test('a request that fails and an event that is refused are traced as such', async () => {
  const { app, collector } = await scene();
  await app.project.post('/events/broadcast', { data: {} }, 400);
  await new ApiClient(`${app.url}/api/v1/projects/${app.projectId}`, 'not a key').get('/events', 401);
  await fetch(`${app.url}/healthz`);
  await app.app.stop();
  const statuses = collector.spans.map(({ attributes }) => attributes['http.response.status_code']);
  expect(statuses).toHaveLength(2);
  expect(new Set(statuses)).toEqual(new Set([400, 401]));
  expect(collector.spans.map(({ error }) => error)).toEqual([undefined, undefined]);
});

test.each(['refuses connections', 'accepts them and never answers'])(
  'a collector that %s delays neither deliveries nor the stop',
  async (how) => {
    const server = await listenTcp(() => {});
    if (how === 'refuses connections') await server.close();
    else onTestFinished(server.close);
    const { app, receiver } = await scene({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.port}`,
      POSTHORN_GRACE: '1',
    });
    await subscribe(app.project, receiver.url);
    await Promise.all(Array.from({ length: 100 }, () => sendEvent(app)));
    await receiver.received(100);
    await eventually(
      async () => (await app.project.get('/eventdeliveries?status=Success&perPage=1000')).content,
      { length: 100 },
    );
    await app.app.stop();
  },
);
