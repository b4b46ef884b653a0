import { createServer } from 'node:net';
import { StartupError } from '../platform/startup-error.ts';
import type { Config } from '../settings/settings.ts';

/** Checked before anything is created, so that a port in use leaves no files behind. */
export async function refuseTakenPort(config: Config): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE'
          ? 'is in use by another program; set POSTHORN_PORT to a free port'
          : `cannot be used: ${error.message}`;
      reject(new StartupError(`${config.host}:${config.port} ${reason}`));
    });
    probe.listen(config.port, config.host, () => probe.close(() => resolve()));
  });
}
