import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { VERSION } from '../../src/platform/version.ts';
import { servesMetrics } from '../../src/settings/exposure.ts';
import { readConfig } from '../../src/settings/settings.ts';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { chartDigest } from './chart/digest.ts';

/** The chart as the real Helm rendered it: see test/deploy/chart/render.sh. */
const CHART = join(import.meta.dirname, '../../deploy/helm/posthorn');
const RENDERED = join(import.meta.dirname, 'chart');
const text = (path: string): string => readFileSync(path, 'utf8');
const values = parse(text(join(CHART, 'values.yaml'))) as Json;
const isValid = new Ajv({ strict: false }).compile(JSON.parse(text(join(CHART, 'values.schema.json'))));

const rendered = (name: string): Record<string, Json> =>
  Object.fromEntries(
    parseAllDocuments(text(join(RENDERED, `${name}.rendered.yaml`)))
      .map((document) => document.toJS() as Json)
      .map((object) => [object.kind, object]),
  );

test('the rendered chart is current: after a change run test/deploy/chart/render.sh', () => {
  expect(text(join(RENDERED, 'digest.txt')).trim()).toBe(chartDigest());
});

test('it installs this version', () => {
  expect(parse(text(join(CHART, 'Chart.yaml')))).toMatchObject({ version: VERSION, appVersion: VERSION });
});

describe('its values', () => {
  test('are all used by a template, and templates use no others', () => {
    const templates = globSync('templates/*', { cwd: CHART })
      .map((name) => text(join(CHART, name)))
      .join('\n');
    const used = new Set([...templates.matchAll(/\.Values\.([\w.]+)/g)].map(([, path]) => path));
    const leaves = Object.entries(values as Record<string, Json>).flatMap(([name, value]) =>
      ['image', 'service', 'podDisruptionBudget', 'serviceMonitor'].includes(name)
        ? Object.keys(value).map((key) => `${name}.${key}`)
        : [name],
    );
    expect(leaves.length).toBeGreaterThan(15);
    expect(used).toEqual(new Set(leaves));
  });

  test.each(['plain', 'full'])('as the test %s has them are valid', (name) => {
    expect(isValid(values)).toBe(true);
    const own = parse(text(join(RENDERED, `${name}.values.yaml`))) as Json;
    expect([isValid({ ...values, ...own }), isValid.errors]).toEqual([true, null]);
  });

  test.each([
    ['a misspelt name', { replica: 3 }],
    ['a misspelt name below', { service: { ports: 80 } }],
    ['a short secret key', { secretKey: 'short' }],
    ['another kind of database', { databaseUrl: 'mysql://host/db' }],
    ['a setting that the chart makes itself', { settings: { POSTHORN_GRACE: '5' } }],
    ['a variable that is no setting', { settings: { PATH: '/bin' } }],
    ['a number that YAML would write as 5.24288e+06', { settings: { POSTHORN_MAX_BODY_BYTES: 5242880 } }],
  ])('are refused with %s', (_what, wrong) => {
    expect(isValid({ ...values, ...wrong })).toBe(false);
  });
});

describe.each(['plain', 'full'])('rendered with values %s', (name) => {
  const { Deployment, Service, Secret, PodDisruptionBudget, ServiceMonitor } = rendered(name);
  const pod = Deployment.spec.template;
  const [container] = pod.spec.containers;
  const secret = Secret?.stringData ?? {
    DATABASE_URL: 'postgres://h/d',
    POSTHORN_SECRET_KEY: 'k'.repeat(32),
  };
  const image = { POSTHORN_HOST: '0.0.0.0', POSTHORN_DATA_DIR: '/data' };
  const environment: Record<string, string> = Object.fromEntries(
    container.env.map((entry: Json) => [entry.name, entry.value ?? secret[entry.valueFrom.secretKeyRef.key]]),
  );
  const config = readConfig({ ...image, ...environment });

  test('the program takes its environment, with any services in the namespace', () => {
    expect(container.env.map((entry: Json) => entry.name)).toEqual([...new Set(Object.keys(environment))]);
    expect(config.databaseUrl?.reveal()).toMatch(/^postgres:/);
    expect(container.ports).toEqual([{ name: 'http', containerPort: config.port }]);
    // Kubernetes would add POSTHORN_PORT=tcp://… where a service is called posthorn; the program refuses that.
    expect(pod.spec.enableServiceLinks).toBe(false);
    expect(() => readConfig({ POSTHORN_PORT: 'tcp://10.0.0.1:80' })).toThrow(/POSTHORN_PORT/);
  });

  test('a pod has longer to stop than the program takes', () => {
    const preStop = container.lifecycle.preStop.sleep.seconds;
    expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(config.graceSeconds + preStop + 1);
  });

  test('service, disruption budget and deployment select the same pods', () => {
    const selectors = [
      Service.spec.selector,
      Deployment.spec.selector.matchLabels,
      PodDisruptionBudget.spec.selector.matchLabels,
    ];
    for (const selector of selectors) {
      expect(Object.keys(selector)).toHaveLength(2);
      expect(pod.metadata.labels).toMatchObject(selector);
    }
    expect(Service.spec.ports[0].targetPort).toBe(container.ports[0].name);
    expect(Deployment.spec.replicas).toBeGreaterThan(1);
  });

  test('it runs without privileges and writes to its two volumes only', () => {
    expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.volumeMounts.map((mount: Json) => mount.mountPath)).toEqual([config.dataDir, '/tmp']);
  });

  test('metrics are served where they are scraped, and only there', () => {
    expect(servesMetrics(config)).toBe(ServiceMonitor !== undefined);
    if (ServiceMonitor === undefined) return;
    expect(Service.metadata.labels).toMatchObject(ServiceMonitor.spec.selector.matchLabels);
    expect(ServiceMonitor.spec.endpoints).toEqual([{ port: 'http', path: '/metrics', interval: '15s' }]);
  });

  test('every probe asks for a page that a ready node answers', async () => {
    const app = await startTestApp({ POSTHORN_METRICS: 'on' });
    try {
      const paths = ['startupProbe', 'readinessProbe', 'livenessProbe'].map(
        (probe) => container[probe].httpGet.path as string,
      );
      for (const path of [...paths, '/metrics']) expect((await fetch(`${app.url}${path}`)).status).toBe(200);
      expect(paths).toEqual(['/readyz', '/readyz', '/healthz']);
    } finally {
      await app.stop();
    }
  });
});

test('the secret is created from the values, unless one exists', () => {
  expect(Object.keys(rendered('plain')['Secret'].stringData)).toEqual([
    'DATABASE_URL',
    'POSTHORN_SECRET_KEY',
  ]);
  expect(rendered('full')['Secret']).toBeUndefined();
  const env = rendered('full')['Deployment'].spec.template.spec.containers[0].env as Json[];
  expect(env[0].valueFrom.secretKeyRef.name).toBe('kept-elsewhere');
});
