import { join } from 'node:path';
import { afterAll, beforeAll, type TestContext, test } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { startScene } from './broker-scene.ts';

export const CA_FILE = join(import.meta.dirname, '../support/certificates/ca.pem');

interface Closable {
  close(): unknown;
}

interface Begin<Facts> {
  facts: Facts;
  app: TestApp;
  /** Closes a part after the tests, when the app has stopped. */
  closing<Part extends Closable>(part: Part): Part;
}

type Check = (name: string, run: (context: TestContext) => Promise<void>) => void;

/** The scene of a file that needs a broker. Its tests are skipped, with the reason, where `find` says why there is none. */
export function brokerTests<Facts>(
  find: () => Promise<Facts | string>,
  begin: (given: Begin<Facts>) => void | Promise<void>,
  env: Record<string, string> = { POSTHORN_CA_FILE: CA_FILE },
): { check: Check; checkAtOnce: Check } {
  const parts: Closable[] = [];
  let missing: string | undefined;
  let app: TestApp | undefined;
  const closing = <Part extends Closable>(part: Part): Part => {
    parts.push(part);
    return part;
  };
  beforeAll(async () => {
    const facts = await find();
    if (typeof facts === 'string') {
      missing = facts;
      return;
    }
    app = await startScene(env);
    await begin({ facts, app, closing });
  }, 1_000_000);
  afterAll(async () => {
    await app?.stop();
    for (const part of parts) await part.close();
  });
  const unlessMissing = (run: (context: TestContext) => Promise<void>) => async (context: TestContext) =>
    missing === undefined ? run(context) : context.skip(missing);
  return {
    check: (name, run) => test(name, unlessMissing(run)),
    // Runs at the same time as the others of this kind, because it waits for most of its time.
    checkAtOnce: (name, run) => test.concurrent(name, unlessMissing(run)),
  };
}
