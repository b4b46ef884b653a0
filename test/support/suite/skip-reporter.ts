import type { Reporter, TestCase, TestModule } from 'vitest/node';
import { parts } from './parts.ts';

/** Says at the end of a run which tests were skipped because the machine lacks a part, and how to install it. */
export class SkipReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const module of modules)
      for (const test of module.children.allTests('skipped')) {
        const reason = reasonOf(test);
        if (reason !== null) counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
    for (const [reason, count] of counts)
      process.stdout.write(`Skipped ${count} ${count === 1 ? 'test' : 'tests'}: ${reason}\n`);
  }
}

/** Null: it is not for this platform, or was not asked for. */
function reasonOf(test: TestCase): string | null {
  const { lacks } = test.meta();
  if (lacks !== undefined) return `no ${parts[lacks].name}. To run: ${parts[lacks].install}`;
  const result = test.result();
  return (result.state === 'skipped' && result.note) || null;
}
