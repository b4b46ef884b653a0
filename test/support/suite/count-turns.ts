/** How many turns of the event loop there are until the work ends. `look`: is called in each of them. */
export async function countTurns<Result>(
  work: () => Result | Promise<Result>,
  look?: () => void,
): Promise<{ turns: number; result: Result }> {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    look?.();
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  try {
    const result = await work();
    return { turns, result };
  } finally {
    isDone = true;
  }
}
