import { defineConfig } from 'vitest/config';

// Where .ci/run wants the counts as JSON.
const report = process.env['TEST_REPORT'];

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Real servers and real processes: two files at a time keeps a two-core machine honest.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
