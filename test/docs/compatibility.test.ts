import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { differences } from '../../scripts/differences.ts';

const ROOT = join(import.meta.dirname, '../..');

it('every operation documents its refusals', () => {
  const { paths, components } = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')) as {
    paths: Record<string, Record<string, { responses: Record<string, { content: unknown }> }>>;
    components: { schemas: Record<string, object> };
  };
  const refusal = { 'application/json': { schema: { $ref: '#/components/schemas/Refusal' } } };
  const silent = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(
        ([, { responses }]) => JSON.stringify(responses['default']?.content) !== JSON.stringify(refusal),
      )
      .map(([method]) => `${method} ${path}`),
  );
  expect(silent.filter((operation) => !operation.includes('/ingest/'))).toEqual([]);
  expect(components.schemas['Refusal']).toMatchObject({ required: ['status', 'message', 'code'] });
});

it('each difference from Convoy stands above its test and says why', () => {
  const all = differences();
  expect(all.length).toBeGreaterThan(90);
  expect(new Set(all.map(({ section }) => section)).size).toBe(7);
  const wrong = all.filter(({ text, isAboveTest }) => !isAboveTest || text.split(/[.;:,] /).length < 2);
  expect(wrong.map(({ at }) => at)).toEqual([]);
});

/** The tests of the recommendations, in the order of their rows. */
const RECOMMENDED = [
  'src/signing/sign-delivery.test.ts',
  'test/engine/settings.test.ts',
  'test/engine/project-keys.test.ts',
  'test/api/config/endpoints.test.ts',
  'test/engine/endpoints/wire-form.test.ts',
  'test/engine/endpoints/wire-form.test.ts',
  'test/api/settings.test.ts',
  'test/retries/defaults.test.ts',
  'test/retries/defaults.test.ts',
  'test/api/deliveries/retries.test.ts',
  'test/retries/receiver-wishes.test.ts',
  'test/api/deliveries/retries.test.ts',
  'src/engine/queue/concurrency-cap.test.ts',
  'test/retries/disable-after.test.ts',
  'test/api/events/matching.test.ts',
  'test/api/deliveries/delivery-actions.test.ts',
  'test/api/config/endpoints.test.ts',
  'src/dispatch/address/address-guard.test.ts',
];

it('each recommendation in docs/standards.md has settings that exist, and a test', () => {
  const standards = readFileSync(join(ROOT, 'docs/standards.md'), 'utf8');
  const rows = [...standards.matchAll(/^\|(.*)\|$/gm)].slice(2).map(([, cells = '']) => cells.split('|'));
  expect(rows).toHaveLength(RECOMMENDED.length);
  expect(RECOMMENDED.filter((test) => !existsSync(join(ROOT, test)))).toEqual([]);
  const known = ['settings', 'config']
    .map((name) => readFileSync(join(ROOT, `docs/${name}.md`), 'utf8'))
    .join('');
  for (const [recommendation, , setting = ''] of rows) {
    // A link leads to the page of a call.
    const names = setting.startsWith('[') ? [] : setting.split(', ').filter((name) => name !== '');
    expect([recommendation, names.filter((name) => !known.includes(`|${name}`))]).toEqual([
      recommendation,
      [],
    ]);
  }
});
