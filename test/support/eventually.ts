/** Gives up only when the answer will not come any more: tests also run on a busy machine. */
export const GIVE_UP_MS = 120_000;

/**
 * Repeats a query until its result satisfies, for states that other processes reach later. Only a test of a
 * promised time passes `withinMs`.
 */
export async function eventually<T>(
  ask: () => Promise<T>,
  satisfied: (answer: T) => boolean,
  withinMs = GIVE_UP_MS,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (satisfied(answer)) return answer;
    if (performance.now() > deadline)
      throw new Error(`still not satisfied after ${withinMs} ms: ${JSON.stringify(answer)?.slice(0, 2000)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
