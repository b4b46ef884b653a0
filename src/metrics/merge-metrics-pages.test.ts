import { expect, test } from 'vitest';
import { mergeMetricsPages } from './merge-metrics-pages.ts';

const page = (number: number, ...more: string[]) =>
  [
    '# HELP events_total Events.',
    '# TYPE events_total counter',
    `events_total{process="${number}"} ${number * 10}`,
    '',
    ...more,
  ].join('\n');

test('series of one metric from any page are together under one head', () => {
  const extra = ['# HELP lag Lag.', '# TYPE lag gauge', 'lag{process="2"} NaN', ''];
  expect(mergeMetricsPages([page(1), '', page(2, ...extra)])).toBe(
    [
      '# HELP events_total Events.',
      '# TYPE events_total counter',
      'events_total{process="1"} 10',
      'events_total{process="2"} 20',
      '',
      ...extra,
    ].join('\n'),
  );
});

test('no pages give an empty page', () => {
  expect(mergeMetricsPages([])).toBe('');
  expect(mergeMetricsPages(['', ''])).toBe('');
});
