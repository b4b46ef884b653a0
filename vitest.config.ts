import { defineConfig } from 'vitest/config';

// .ci/run names a file here to get the counts as JSON.
const report = process.env['TEST_REPORT'];

/** Folders whose tests start, kill or freeze whole programs. */
const slow = [
  'src/sandbox',
  ...['backup', 'bench', 'chaos', 'crash', 'embedded', 'processes', 'secrets'].map((name) => `test/${name}`),
].map((folder) => `${folder}/**/*.test.ts`);
/** Tests against real brokers. */
const brokers = ['test/brokers/**/*.test.ts'];
// Late: a busy machine fails no test.
const limits = { testTimeout: 300_000, hookTimeout: 300_000 };
const withDatabase = { ...limits, globalSetup: ['test/support/global-setup.ts'] };
const withBrokers = { globalSetup: [...withDatabase.globalSetup, 'test/support/brokers/global-setup.ts'] };

export default defineConfig({
  test: {
    // Real servers and real processes: two files at a time leave a two-core machine some room.
    maxWorkers: 2,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
    projects: [
      // Pure functions: no database, no process. They share one worker, since loading the modules takes longest.
      { test: { ...limits, name: 'unit', include: ['src/**/*.test.ts'], exclude: slow, isolate: false } },
      {
        test: {
          ...withDatabase,
          name: 'service',
          include: ['test/**/*.test.ts'],
          exclude: [...slow, ...brokers],
        },
      },
      { test: { ...withDatabase, name: 'slow', include: slow } },
      { test: { ...withDatabase, ...withBrokers, name: 'brokers', include: brokers } },
    ],
  },
});
