/** `eventTypes` and `event-types` are `event_types`. */
export const plainName = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '');

/** The most similar name, if it differs in less than a third of its letters. */
export function nearestName(name: string, names: readonly string[]): string | null {
  const [best] = names
    .map((other) => ({ other, distance: distance(plainName(name), plainName(other)) }))
    .filter((one) => one.distance <= Math.max(1, Math.floor(name.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return best?.other ?? null;
}

/** Letters to add, drop, change or swap with their neighbour. */
function distance(left: string, right: string): number {
  const rows = [Array.from({ length: right.length + 1 }, (_, index) => index)];
  const cost = (i: number, j: number) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= right.length; j++) {
      const changed = cost(i - 1, j - 1) + (left[i - 1] === right[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const swapped = isSwap ? cost(i - 2, j - 2) + 1 : changed;
      row.push(Math.min(changed, swapped, cost(i - 1, j) + 1, cost(i, j - 1) + 1));
    }
  }
  return cost(left.length, right.length);
}
