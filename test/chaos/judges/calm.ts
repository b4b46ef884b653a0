import type { Fault } from '../fault-injector.ts';
import { RECOVERY_MS } from '../fault-schedule.ts';

/** The time of a run in which only late database answers can delay an endpoint. */
export interface Stretch {
  from: number;
  to: number;
  delayMs: number;
}

/** A calm stretch counts from here on, because its delay has just begun. */
const SETTLING_MS = 1_000;
/** These do not stop a node from sending. */
const HARMLESS = ['calm', 'slow tokens', 'delay database'];

/** The planned calm, without the after-effects of an earlier fault. */
export function calmStretches(faults: Fault[]): Stretch[] {
  const disturbing = faults
    .filter(({ kind }) => !HARMLESS.includes(kind))
    .map(({ from, to }) => ({ from, to: to + RECOVERY_MS }));
  const calm = faults.filter(({ kind }) => kind === 'calm');
  return without(
    calm.map(({ from, to, delayMs }) => ({ from: from + SETTLING_MS, to, delayMs })),
    disturbing,
  );
}

/** The stretches without the spans. */
export function without(stretches: Stretch[], spans: readonly { from: number; to: number }[]): Stretch[] {
  return spans.reduce(
    (left, span) =>
      left
        .flatMap((stretch) => [
          { ...stretch, to: Math.min(stretch.to, span.from) },
          { ...stretch, from: Math.max(stretch.from, span.to) },
        ])
        .filter(({ from, to }) => from < to),
    stretches,
  );
}
