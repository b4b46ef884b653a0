import { type Config, readConfig } from '../../settings/settings.ts';
import type { Given, Operand, Run } from '../terminal/command.ts';

export type Values = Record<string, string | undefined>;

/** A command of the server gets the settings of the environment. */
export function withConfig(
  run: (config: Config, values: Values) => Promise<void>,
  operands: readonly Operand[] = [],
): Run {
  return async (given: Given) => {
    await run(readConfig(given.env), given.named(operands));
    return undefined;
  };
}
