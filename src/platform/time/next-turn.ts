/**
 * Work that is divided into slices waits here between them. In each turn of the event loop one slice goes on, however many
 * works wait, in the order in which they came.
 */
const waiting: (() => void)[] = [];

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(goOn);
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
  if (waiting.length > 0) setImmediate(goOn);
}
