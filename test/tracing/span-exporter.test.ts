import { expect, onTestFinished, test } from 'vitest';
import { HttpClient } from '../../src/dispatch/client/http-client.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { ObserverGuard } from '../../src/metrics/observer-guard.ts';
import { SpanExporter } from '../../src/tracing/span-exporter.ts';
import { Tracer } from '../../src/tracing/tracer.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { Collector } from '../support/servers/collector.ts';

async function exporting(collector: Collector) {
  const { metrics, registry } = createMetrics();
  const { log, lines } = linesOf('info');
  const exporter = new SpanExporter({
    http: new HttpClient({ egress: 'any' }),
    url: `${collector.url}/v1/traces`,
    headers: [],
    resource: () => ({ 'service.name': 'posthorn', 'service.version': '1', 'service.instance.id': 'node' }),
    metrics,
    guard: new ObserverGuard(log, metrics.observerFaults),
    log,
  });
  const tracer = new Tracer({ sink: exporter, ratio: 1 });
  const count = async (result: string) => {
    const { values } = await registry.getSingleMetric('posthorn_trace_spans_total')!.get();
    return values.find(({ labels }) => labels['result'] === result)?.value;
  };
  const span = (name: string) => {
    const one = tracer.begin(null);
    if (one !== null) tracer.end(one, { name, kind: 'internal', attributes: {}, error: null });
  };
  const many = (from: number, to: number) => {
    for (let n = from; n < to; n++) span(`span ${n}`);
  };
  return { exporter, count, span, many, messages: () => lines().map(({ msg }) => msg) };
}

async function collecting(): Promise<Collector> {
  const collector = await Collector.start();
  onTestFinished(() => collector.stop());
  return collector;
}

test('while the collector is down 8,192 spans wait and further ones are dropped; it gets the waiting ones later', async () => {
  const collector = await collecting();
  collector.status = 503;
  const { exporter, count, many, messages } = await exporting(collector);
  many(0, 20_000);
  await eventually(async () => collector.requests.length, atLeast(2));
  many(20_000, 30_000);
  expect(await count('dropped')).toBe(30_000 - 8_192);
  // The same batch again and again, bounded in size.
  expect(new Set(collector.requests.map(({ body }) => body)).size).toBe(1);
  expect(messages()).toEqual(['failed to export traces; deliveries continue']);
  collector.status = 200;
  await exporter.stop(60_000);
  expect(collector.spans.map(({ name }) => name)).toEqual(
    Array.from({ length: 8_192 }, (_, n) => `span ${n}`),
  );
  expect(await count('exported')).toBe(8_192);
  expect(messages()).toEqual(['failed to export traces; deliveries continue', 'trace export works again']);
});

test('a batch that the collector refuses is dropped and the next one sent', async () => {
  const collector = await collecting();
  collector.status = 400;
  const { exporter, count, span } = await exporting(collector);
  span('refused');
  await eventually(() => count('dropped'), 1);
  collector.status = 200;
  span('taken');
  await exporter.stop(60_000);
  expect(collector.spans.map(({ name }) => name)).toEqual(['taken']);
  expect([await count('exported'), await count('dropped')]).toEqual([1, 1]);
});

test('spans that the collector reports as rejected count as dropped', async () => {
  const collector = await collecting();
  collector.answer = { partialSuccess: { rejectedSpans: '2', errorMessage: 'no' } };
  const { exporter, count, many } = await exporting(collector);
  many(0, 5);
  await exporter.stop(60_000);
  expect([await count('exported'), await count('dropped')]).toEqual([3, 2]);
});

test('spans left at the end of the grace are dropped, and so are later ones', async () => {
  const collector = await collecting();
  collector.status = 503;
  const { exporter, count, many, span } = await exporting(collector);
  many(0, 700);
  await exporter.stop(0);
  span('late');
  expect(await count('dropped')).toBe(701);
  expect(collector.spans).toEqual([]);
});

test('more spans than fit into one request are sent in several, in order', async () => {
  const collector = await collecting();
  const { exporter, many } = await exporting(collector);
  many(0, 1_200);
  await exporter.stop(60_000);
  expect(collector.spans.map(({ name }) => name)).toEqual(
    Array.from({ length: 1_200 }, (_, n) => `span ${n}`),
  );
  expect(collector.requests).toHaveLength(3);
  expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(1_200);
});
