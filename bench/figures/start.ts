import { type Figure, Skipped } from '../figure.ts';
import type { Stage } from '../stage.ts';
import { WholeProgram } from '../whole-program.ts';

/** From the start of the command until it says that it is ready, on a data directory that an earlier start made. */
export const start: Figure = {
  name: 'start',
  rounds: ({ rounds }) => rounds,
  run: async (stage) => {
    const program = await WholeProgram.start(await usedDirectory(stage));
    try {
      const cpu = await program.cpu();
      if (cpu === null) throw new Skipped('CPU time is read from /proc, which only Linux has');
      return {
        seconds: program.startSeconds,
        cpuServiceSeconds: cpu.service,
        cpuDatabaseSeconds: cpu.database,
        cpuSeconds: cpu.service + cpu.database,
      };
    } finally {
      await program.stop();
    }
  },
};

/** A data directory with a database that is initialised and was stopped. */
export function usedDirectory(stage: Stage): Promise<string> {
  return stage.keep('used directory', async () => {
    const directory = await stage.newDirectory();
    await (await WholeProgram.start(directory)).stop();
    return { value: directory };
  });
}
