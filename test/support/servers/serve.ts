import { onTestFinished, type TestContext } from 'vitest';
import { Program } from '../program.ts';

/** The key of nodes on one database. */
const SECRET_KEY = 'the same thirty-two or more characters';

type AtEnd = TestContext['onTestFinished'];

/** A node as a child process, at any free port, until the test ends. Tests that run at the same time pass their own hook. */
export function serve(env: Record<string, string>, atEnd: AtEnd = onTestFinished): Program {
  const program = new Program({ args: ['serve'], env: { POSTHORN_PORT: '0', ...env } });
  atEnd(() => program.end());
  return program;
}

/** Another node on this database, which may send to addresses of this machine. */
export function serveOn(databaseUrl: string, env: Record<string, string>, atEnd?: AtEnd): Program {
  const shared = { DATABASE_URL: databaseUrl, POSTHORN_SECRET_KEY: SECRET_KEY, POSTHORN_EGRESS: 'any' };
  return serve({ ...shared, ...env }, atEnd);
}
