import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { createLogger, type Logger } from '../../platform/logger.ts';
import { collectWhenIdle } from '../../platform/memory/idle-collector.ts';
import { startProcesses } from '../../processes/start-processes.ts';
import { PRIMARY } from '../../processes/supervisor.ts';
import { egressRule } from '../../settings/exposure.ts';
import type { Config } from '../../settings/settings.ts';
import { startApp } from '../../start/app.ts';
import { KeptApp } from '../../start/kept-app.ts';
import { onStrayRejection, STRAY_REJECTION, stopInTime } from '../../start/stop-in-time.ts';
import { terminal } from '../terminal/terminal.ts';
import { makeLink } from './person.ts';
import { welcome } from './welcome.ts';

/**
 * Runs until SIGINT or SIGTERM, or until a fault. The first signal starts a clean stop. Ctrl-C under npm arrives twice, so
 * signals less than a second apart count as one. A later one ends the process at once.
 */
const ONE_SIGNAL_MS = 1_000;

/** The default of this rule depends on other settings, so each start logs the rule in force. */
const EGRESS = {
  any: 'deliveries may go to any address except link-local and cloud metadata (POSTHORN_EGRESS=any)',
  public: 'deliveries may go to public addresses only (POSTHORN_EGRESS=public)',
} as const;

export async function serve(config: Config): Promise<void> {
  const isOne = config.processes === 1;
  const log = isOne
    ? createLogger(config.logLevel)
    : createLogger(config.logLevel).child({ process: PRIMARY });
  const asked = Promise.race([stopSignal(), strayRejection(log)]);
  collectWhenIdle();
  const running = await (isOne
    ? KeptApp.start(() => startApp(config, log), log)
    : startProcesses(config, log));
  const { url, credentials } = running;
  const file = join(config.dataDir, 'credentials.json');
  const isTerminal = isatty(1);
  const link =
    credentials !== null && isTerminal
      ? await makeLink(config, 'sign_in', { remove_second_factor: false })
      : null;
  terminal().stdout.write(welcome({ url, credentials, file, isTerminal, hasFile: existsSync(file), link }));
  log.info(
    { egress: egressRule(config), allow: config.egressAllow, deny: config.egressDeny },
    EGRESS[egressRule(config)],
  );
  log.info({ url, nodes: running.nodes }, 'ready');
  const signal = await asked;
  log.info({ signal }, 'stopping');
  await stopInTime(running, config, log);
}

function strayRejection(log: Logger): Promise<string> {
  return new Promise((resolve) => {
    onStrayRejection((error) => {
      log.error({ err: error }, STRAY_REJECTION);
      resolve('fault');
    });
  });
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
