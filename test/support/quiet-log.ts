import { createLogger, type Logger } from '../../src/platform/logger.ts';

/** Silent, unless TEST_LOG names a level. */
export const quietLog: Logger = createLogger(process.env['TEST_LOG'] ?? 'silent');
