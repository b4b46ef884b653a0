import { createLogger, type Logger } from '../../src/platform/logger.ts';

/**
 * Silent, unless TEST_LOG names a level. Its destination is no emitter: each app of a worker would add a listener.
 */
export const quietLog: Logger = createLogger(process.env['TEST_LOG'] ?? 'silent', {
  write: (line) => {
    process.stderr.write(line);
  },
});
