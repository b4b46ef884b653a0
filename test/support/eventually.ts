/** Repeats a query until its result satisfies, for states that other processes reach later. */
export async function eventually<T>(
  ask: () => Promise<T>,
  satisfied: (answer: T) => boolean,
  timeoutMs = 20_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (satisfied(answer)) return answer;
    if (performance.now() > deadline)
      throw new Error(`still not satisfied after ${timeoutMs} ms: ${JSON.stringify(answer)?.slice(0, 2000)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
