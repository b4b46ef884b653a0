import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty folder, removed with the test, or with the file: then pass `afterAll`. Concurrent tests pass the hook of their context. */
export function temporaryFolder(atEnd: (remove: () => void) => unknown = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'posthorn-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}
