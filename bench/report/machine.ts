import { availableParallelism, cpus, totalmem, type } from 'node:os';

/** The machine of the figures. Without it they mean nothing. */
export interface Machine {
  system: string;
  cores: number;
  cpu: string;
  memoryGb: number;
  node: string;
  postgres: string;
}

export function machine(postgres: string): Machine {
  return {
    system: `${type()} ${process.arch}`,
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    postgres,
  };
}
