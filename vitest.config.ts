import { defineConfig } from 'vitest/config';
import { SpreadBrokers } from './test/support/spread-brokers.ts';

// .ci/run names a file here to get the counts as JSON.
const report = process.env['TEST_REPORT'];

/** Folders whose tests start, kill or freeze whole programs. */
const slow = [
  'src/sandbox',
  ...['backup', 'bench', 'chaos', 'crash', 'embedded', 'processes', 'secrets', 'web'].map(
    (name) => `test/${name}`,
  ),
].map((folder) => `${folder}/**/*.test.ts`);
/** Tests against real brokers. */
const brokers = ['test/brokers/**/*.test.ts'];
// Late: a busy machine fails no test.
const limits = { testTimeout: 300_000, hookTimeout: 300_000 };
const withDatabase = { globalSetup: ['test/support/global-setup.ts'] };
const withBrokers = { globalSetup: [...withDatabase.globalSetup, 'test/support/brokers/global-setup.ts'] };
// Files share workers: loading the modules for each file took a third of the CPU time of the service tests.
const together = { ...limits, exclude: [...slow, ...brokers], isolate: false };

export default defineConfig({
  test: {
    // Three files at a time keep two cores busy, because many tests wait.
    maxWorkers: 3,
    sequence: { sequencer: SpreadBrokers },
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
    projects: [
      // No database, no process.
      { test: { ...together, name: 'unit', include: ['{src,client/src,web/src}/**/*.test.ts'] } },
      { test: { ...together, ...withDatabase, name: 'service', include: ['test/**/*.test.ts'] } },
      { test: { ...limits, ...withDatabase, name: 'slow', include: slow } },
      { test: { ...limits, ...withBrokers, name: 'brokers', include: brokers } },
    ],
  },
});
