import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { metricTable } from '../../src/metrics/metrics.ts';
import { processMetrics } from './process-metrics.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../deploy', name), 'utf8');

interface Definition {
  name: string;
  type: string;
  labels?: readonly { name: string; values: readonly string[] }[];
}
const definitions: Definition[] = [...Object.values(metricTable), ...processMetrics];

const alerts = (
  parse(read('prometheus-alerts.yml')) as { groups: { rules: Record<string, string>[] }[] }
).groups
  .flatMap(({ rules }) => rules)
  .map(({ expr = '' }) => expr);
const dashboard = (
  JSON.parse(read('grafana-dashboard.json')) as { panels: { targets?: { expr: string }[] }[] }
).panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** Series names that a metric has on the page. */
const seriesOf = ({ name, type }: Definition): string[] =>
  type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
const bySeries = new Map(
  definitions.flatMap((definition) => seriesOf(definition).map((name) => [name, definition])),
);
const named = (expression: string): string[] => expression.match(/\bposthorn_\w+/g) ?? [];

it.each([
  ['alert rules', alerts, 8],
  ['dashboard', dashboard, 15],
])('the %s use only existing metrics', (_what, expressions, atLeast) => {
  expect(expressions.length).toBeGreaterThanOrEqual(atLeast);
  expect(expressions.filter((expression) => named(expression).length === 0)).toEqual([]);
  expect(expressions.flatMap(named).filter((name) => !bySeries.has(name))).toEqual([]);
});

it('label values in the expressions exist', () => {
  const used = [...alerts, ...dashboard].flatMap((expression) =>
    [...expression.matchAll(/(posthorn_\w+)\{(\w+)!?="(\w+)"\}/g)].map(
      ([, name = '', label = '', value = '']) => ({
        name,
        label,
        value,
      }),
    ),
  );
  expect(used.length).toBeGreaterThan(3);
  const isKnown = ({ name, label, value }: { name: string; label: string; value: string }) =>
    bySeries
      .get(name)
      ?.labels?.find((one) => one.name === label)
      ?.values.includes(value) === true;
  expect(used.filter((one) => !isKnown(one))).toEqual([]);
});

it('the dashboard shows every metric of the service', () => {
  const shown = new Set(dashboard.flatMap(named));
  const ours = Object.values(metricTable) as Definition[];
  expect(ours.filter((one) => !seriesOf(one).some((name) => shown.has(name)))).toEqual([]);
});
