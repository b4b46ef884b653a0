import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongFirst, MORE } from './test/support/suite/sets.ts';
import { SkipReporter } from './test/support/suite/skip-reporter.ts';

// Workers and the programs that tests start share what Node compiled. A start of the program takes 0.6 s of CPU then,
// instead of 1.5 s.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

// Commands write colours where this is set, and tests read what they write.
delete process.env['FORCE_COLOR'];

// .ci/run names a file here to get the counts as JSON.
const report = process.env['TEST_REPORT'];

// Late: a busy machine fails no test. Files share workers, because to load the modules for each file took a third of the
// CPU time.
const common = { testTimeout: 600_000, hookTimeout: 600_000, isolate: false };
const database = 'test/support/suite/global-setup.ts';

const projects = [
  /** No database, no process. */
  { ...common, name: 'unit', include: ['{src,client/src,web/src}/**/*.test.ts'], exclude: MORE },
  /** The service, in the process of the test wherever possible. */
  { ...common, name: 'service', include: ['test/**/*.test.ts'], exclude: MORE, globalSetup: [database] },
  /** Whole programs, browsers and brokers, and what takes minutes. */
  {
    ...common,
    name: 'more',
    include: MORE,
    globalSetup: [database, 'test/support/brokers/global-setup.ts'],
  },
];

export default defineConfig({
  test: {
    // Five files at a time keep two cores busy, because many tests wait.
    maxWorkers: 5,
    sequence: { sequencer: LongFirst },
    reporters: [
      'default',
      ...(report === undefined ? [] : [['json', { outputFile: report }] as ['json', { outputFile: string }]]),
      new SkipReporter(),
    ],
    projects: projects.map((test) => ({ test })),
  },
});
