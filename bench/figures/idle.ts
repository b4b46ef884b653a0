import { setTimeout as pause } from 'node:timers/promises';
import { memoryOf } from '../cost/process-memory.ts';
import { type Figure, Skipped } from '../figure.ts';
import { WholeProgram } from '../whole-program.ts';
import { usedDirectory } from './start.ts';

/** The program with its database, some time after a start and without any load. */
export const idle: Figure = {
  name: 'idle',
  rounds: () => 1,
  run: async (stage) => {
    const program = await WholeProgram.start(await usedDirectory(stage));
    try {
      await pause(stage.plan.settleSeconds * 1000);
      const memory = memoryOf(program.pid);
      if (memory === null) throw new Skipped('memory is read from /proc/PID/smaps, which only Linux has');
      return { memoryMb: memory.memoryBytes / 2 ** 20, pssMb: memory.pssBytes / 2 ** 20 };
    } finally {
      await program.stop();
    }
  },
};
