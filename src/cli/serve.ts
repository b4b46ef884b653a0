import { join } from 'node:path';
import { type App, startApp } from '../app.ts';
import type { Config } from '../config.ts';
import { createLogger } from '../platform/logger.ts';

/**
 * Runs until SIGINT or SIGTERM. The first signal starts a clean stop; Ctrl-C under npm arrives twice, so signals
 * less than a second apart count as one; a later one ends the process at once.
 */
const ONE_SIGNAL_MS = 1_000;
/** Past the grace by this much, something does not let go (a database that answers nothing): the process ends anyway. */
const OVERTIME_MS = 1_000;

export async function serve(config: Config): Promise<void> {
  const log = createLogger(config.logLevel);
  const asked = stopSignal();
  const app = await startApp(config, log);
  process.stdout.write(welcome(app, config));
  log.info({ url: app.url, node: app.engine.nodeId }, 'ready');
  const signal = await asked;
  log.info({ signal }, 'stopping');
  setTimeout(
    () => {
      log.error('not stopped within the grace; others take over in ten seconds what this node still held');
      process.exit(1);
    },
    config.graceSeconds * 1000 + OVERTIME_MS,
  ).unref();
  await app.stop();
  log.info('stopped');
  process.exit(0);
}

function stopSignal(): Promise<string> {
  let firstAt: number | undefined;
  return new Promise((resolve) => {
    const onSignal = (signal: string) => {
      if (firstAt !== undefined && performance.now() - firstAt > ONE_SIGNAL_MS) process.exit(1);
      firstAt ??= performance.now();
      resolve(signal);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

function welcome({ url, credentials }: App, config: Config): string {
  const file = join(config.dataDir, 'credentials.json');
  if (credentials === null) return `Posthorn is ready at ${url} (keys: ${file} of the first start)\n`;
  const { project_id, api_key } = credentials;
  return `
Posthorn is ready at ${url}

  project  ${project_id}
  key      ${api_key}
  (kept in ${file}, which also has the instance key; API reference: ${url}/docs)

Send a first event:

  curl ${url}/api/v1/projects/${project_id}/events/broadcast \\
    -H 'Authorization: ${api_key}' -H 'Content-Type: application/json' \\
    -d '{"event_type":"hello.world","data":{"greeting":"hello"}}'

`;
}
