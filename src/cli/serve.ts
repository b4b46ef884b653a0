import { join } from 'node:path';
import { startApp } from '../app.ts';
import type { Config } from '../config.ts';
import { createLogger } from '../platform/logger.ts';
import { startProcesses } from '../processes/start-processes.ts';
import { PRIMARY } from '../processes/supervisor.ts';
import type { Running } from '../running.ts';
import { stopInTime } from '../stop-in-time.ts';

/**
 * Runs until SIGINT or SIGTERM. The first signal starts a clean stop; Ctrl-C under npm arrives twice, so signals
 * less than a second apart count as one; a later one ends the process at once.
 */
const ONE_SIGNAL_MS = 1_000;
export async function serve(config: Config): Promise<void> {
  const isOne = config.processes === 1;
  const log = isOne
    ? createLogger(config.logLevel)
    : createLogger(config.logLevel).child({ process: PRIMARY });
  const asked = stopSignal();
  const running = await (isOne ? startApp(config, log) : startProcesses(config, log));
  process.stdout.write(welcome(running, config));
  log.info({ url: running.url, nodes: running.nodes }, 'ready');
  const signal = await asked;
  log.info({ signal }, 'stopping');
  await stopInTime(running, config, log);
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

function welcome({ url, credentials }: Running, config: Config): string {
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
