/** Gives up only when the answer will not come any more: tests also run on a busy machine. */
export const GIVE_UP_MS = 300_000;

/** A query each 20 ms took a tenth of a core for each test that waited. Later ones come after a twentieth of the wait. */
const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 100;
const SHARE = 0.05;

/**
 * Repeats a query until its result satisfies, for states that other processes reach later. Only a test of a
 * promised time passes `withinMs`.
 */
export async function eventually<T>(
  ask: () => Promise<T>,
  satisfied: (answer: T) => boolean,
  withinMs = GIVE_UP_MS,
): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    const answer = await ask();
    if (satisfied(answer)) return answer;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > withinMs)
      throw new Error(`still not satisfied after ${withinMs} ms: ${JSON.stringify(answer)?.slice(0, 2000)}`);
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, waitedMs * SHARE));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
