import { pino } from 'pino';
import type { Logger } from '../../src/platform/logger.ts';
import type { Json } from './client.ts';
import { happened } from './eventually.ts';

/** A log of the given level, and the lines written to it so far. */
export function linesOf(level: string): { log: Logger; lines(): Json[]; text(): string } {
  let written = '';
  const log = pino(
    { level, base: null },
    {
      write: (line) => {
        written += line;
        happened();
      },
    },
  );
  return {
    log,
    text: () => written,
    lines: () =>
      written
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Json),
  };
}
