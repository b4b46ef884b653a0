import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BROKERS, PROGRAMS, SpreadWaiting } from './test/support/suite/spread-waiting.ts';
import { isWholeSuite } from './test/support/suite/whole-suite.ts';

// Workers and the programs that tests start share what Node compiled. A start of the program takes 0.6 s of CPU then,
// instead of 1.5 s.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

// .ci/run names a file here to get the counts as JSON.
const report = process.env['TEST_REPORT'];

const slow = PROGRAMS.map((folder) => `${folder}/**/*.test.ts`);
const brokers = [`${BROKERS}/**/*.test.ts`];
// Late: a busy machine fails no test. Files share workers, because to load the modules for each file took a third of the
// CPU time.
const common = { testTimeout: 300_000, hookTimeout: 300_000, isolate: false };
const withDatabase = { ...common, globalSetup: ['test/support/suite/global-setup.ts'] };
const withBrokers = {
  ...common,
  globalSetup: [...withDatabase.globalSetup, 'test/support/brokers/global-setup.ts'],
};
const all = ['test/**/*.test.ts', ...slow];
const exclude = [...slow, ...brokers];

/** No database, no process. */
const unit = { ...common, exclude, name: 'unit', include: ['{src,client/src,web/src}/**/*.test.ts'] };
const sets = [
  { ...withDatabase, exclude, name: 'service', include: ['test/**/*.test.ts'] },
  { ...withDatabase, name: 'slow', include: slow },
  { ...withBrokers, name: 'brokers', include: brokers },
];
// A worker is kept only while the next file is of its project, so the whole suite is one.
const whole = [{ ...withBrokers, name: 'whole', include: all }];

export default defineConfig({
  test: {
    // Five files at a time keep two cores busy, because many tests wait.
    maxWorkers: 5,
    sequence: { sequencer: SpreadWaiting },
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
    projects: [unit, ...(isWholeSuite ? whole : sets)].map((test) => ({ test })),
  },
});
