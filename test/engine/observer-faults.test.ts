import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { AlertRecorder } from '../../src/control/alert-recorder.ts';
import type { Metrics } from '../../src/metrics/metrics.ts';
import { createLogger, type Logger } from '../../src/platform/logger.ts';
import { type ObserverParts, observerParts } from '../../src/start/create-observers.ts';
import { MetaEventRecorder } from '../../src/store/queue/meta-event-recorder.ts';
import { SpanExporter } from '../../src/tracing/span-exporter.ts';
import { startTestApp, subscribe, type TestApp } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { deliveryOf, shown } from '../support/settled.ts';

/** A fault in each observer, put in where the service makes it: events are accepted and delivered all the same. */
const fail = (): never => {
  throw new Error('a fault put in by a test');
};

function faultyInstruments(node: object): object {
  const names = ['inc', 'set', 'observe'].filter((name) => name in node);
  if (names.length > 0) return Object.fromEntries(names.map((name) => [name, fail]));
  return Object.fromEntries(
    Object.entries(node).map(([name, child]) => [name, faultyInstruments(child as object)]),
  );
}

class FaultyAlerts extends AlertRecorder {
  override record(): never {
    return fail();
  }
  override notify(): never {
    return fail();
  }
}

class RejectingAlerts extends AlertRecorder {
  override record(): Promise<never> {
    return Promise.reject(new Error('a fault put in by a test'));
  }
}

class FaultyMetaEvents extends MetaEventRecorder {
  override prepare(): never {
    return fail();
  }
}

interface Fault {
  observer: string;
  parts?: Partial<ObserverParts>;
  env?: Record<string, string>;
  log?: () => Logger;
  /** Statements that put the fault into the database. */
  sql?: string;
}

const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };

const faults: Record<string, Fault> = {
  'every counter, gauge and histogram throws': {
    observer: 'metrics',
    parts: {
      createMetrics: (processNumber) => {
        const { metrics, registry } = observerParts.createMetrics(processNumber);
        const faulty = { ...faultyInstruments(metrics), observerFaults: metrics.observerFaults };
        return { metrics: faulty as Metrics, registry };
      },
    },
  },
  'the log throws': {
    observer: 'log',
    log: () => pino({ level: 'trace' }, { write: fail }),
  },
  'the log is on a full disk': {
    observer: 'log',
    log: () => createLogger('debug', pino.destination({ dest: '/dev/full', sync: false, minLength: 0 })),
  },
  'the exporter of spans throws': {
    observer: 'trace',
    env: COLLECTOR,
    parts: { createExporter: () => ({ add: fail, stop: () => Promise.reject(new Error('a fault')) }) },
  },
  'spans cannot be written as OTLP': {
    observer: 'trace',
    env: COLLECTOR,
    parts: { createExporter: (options) => new SpanExporter({ ...options, resource: fail }) },
  },
  'alerts throw': {
    observer: 'alert',
    parts: { createAlerts: (notifier) => new FaultyAlerts(notifier) },
  },
  'alerts cannot be recorded': {
    observer: 'alert',
    parts: { createAlerts: (notifier) => new RejectingAlerts(notifier) },
  },
  'the database refuses to store alerts': {
    observer: 'alert',
    sql: `create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'a fault put in by a test'; end $$;
      create trigger refuse before insert or update on alerts execute function refuse()`,
  },
  'meta events throw': {
    observer: 'meta_event',
    parts: { createMetaEvents: (deps) => new FaultyMetaEvents(deps) },
  },
};

async function start({
  parts,
  env = {},
  log,
  sql,
}: Fault): Promise<{ service: TestApp; receiver: Receiver }> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const service = await startTestApp(env, log?.(), { ...observerParts, ...parts });
  onTestFinished(() => service.stop());
  if (sql !== undefined) await service.database.query(sql);
  return { service, receiver };
}

test.each(Object.entries(faults))('%s: nothing else fails', async (_name, fault) => {
  const { service, receiver } = await start(fault);
  await service.project.put('', {
    name: 'default',
    config: { meta_event: { is_enabled: true, url: `${receiver.url}/meta`, event_type: ['*'] } },
  });
  const { endpoint } = await subscribe(service.project, `${receiver.url}/hook`, {
    subscription: {
      alert_config: { count: 1, threshold: '1m' },
      retry_config: { type: 'linear', interval_seconds: 1, retry_count: 3 },
    },
  });
  const send = (data: object) =>
    service.project.post('/events', { endpoint_id: endpoint.uid, event_type: 'a', data });
  receiver.answerAlways(({ path, json }, response) => {
    const tries = receiver.at('/hook').filter((each) => each.json.n === json.n).length;
    const status = path === '/meta' ? 200 : json.gone ? 410 : json.failsOnce && tries === 1 ? 500 : 200;
    response.writeHead(status).end();
  });
  await deliveryOf(service.project, await send({ n: 1 }));
  await deliveryOf(service.project, await send({ n: 2, failsOnce: true }));
  // A 410 makes the endpoint inactive and raises an alert in the same transaction.
  await deliveryOf(service.project, await send({ n: 3, gone: true }), 'Failure');
  await shown(service.project, `/endpoints/${endpoint.uid}`, { status: 'inactive' });
  await service.project.post(`/endpoints/${endpoint.uid}/activate`, undefined, 202);
  expect(receiver.at('/hook').map(({ json }) => json.n)).toEqual([1, 2, 2, 3]);
  const count = `posthorn_observer_faults_total{observer="${fault.observer}"} `;
  const page = await eventually(
    () => service.app.metrics(),
    (text) => Number(text.split(count)[1]?.split('\n')[0]) > 0,
  );
  expect(page).toContain(count);
});

test('a fault is logged once a minute, not once per event', async () => {
  const { log, lines } = linesOf('error');
  const { service, receiver } = await start({
    ...(faults['meta events throw'] as Fault),
    log: () => log,
  });
  await service.project.put('', {
    name: 'default',
    config: { meta_event: { is_enabled: true, url: `${receiver.url}/meta`, event_type: ['*'] } },
  });
  const { endpoint } = await subscribe(service.project, receiver.url);
  for (let n = 0; n < 10; n++)
    await service.project.post('/events', { endpoint_id: endpoint.uid, event_type: 'a', data: { n } });
  await receiver.received(10);
  await eventually(
    () => service.app.metrics(),
    (text) => Number(/observer_faults_total\{observer="meta_event"\} (\d+)/.exec(text)?.[1]) >= 10,
  );
  const reported = lines().filter(({ observer }) => observer === 'meta_event');
  expect(reported).toHaveLength(1);
  expect(reported[0].err.message).toBe('a fault put in by a test');
});

test('a node that stopped no longer listens to the destination of its log', async () => {
  const destination = pino.destination({ dest: '/dev/null', sync: true });
  const log = createLogger('silent', destination);
  const before = destination.listenerCount('error');
  const service = await startTestApp({}, log);
  expect(destination.listenerCount('error')).toBe(before + 1);
  await service.stop();
  expect(destination.listenerCount('error')).toBe(before);
});
