/**
 * The faults and their times, generated from a seed. The same seed gives the same schedule.
 *
 * A run is calm, then a round of faults, then calm, and so on. In a round each kind occurs once (more often
 * if only some kinds are selected), with a pause between two. A fault that lasts longer than the pause
 * overlaps with the next. A calm stretch begins after recovery from the last fault. In it only the database's
 * answers are late, by the next of CALM_DELAYS_MS. Limited endpoints must then use their full limit.
 */
export const FAULT_KINDS = [
  'kill node',
  'stop node',
  /** Stopped for longer than the lease. */
  'freeze node',
  /** Stopped for longer than the endpoint timeout, and shorter than the lease. */
  'stall node',
  /** Stopped for less than the endpoint timeout. */
  'pause node',
  'kill database',
  'cut connections',
  'delay database',
  'slow tokens',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number] | 'calm';

export interface PlannedFault {
  kind: FaultKind;
  /** The node by its position. Null: the database, the token server or the relays of all nodes. */
  node: number | null;
  afterMs: number;
  /** How long the database is down, the node is stopped, answers are late, or calm lasts. */
  lastsMs: number;
  /** How late answers come. */
  delayMs: number;
}

export interface ScheduleOptions {
  seed: number;
  nodes: number;
  forMs: number;
  /** Mean time between faults. */
  pauseMs: number;
  /** Length of a calm stretch. */
  calmMs: number;
  kinds: readonly FaultKind[];
}

/** Longer than it takes for the work of a killed node to move, which is 15 s. */
export const RECOVERY_MS = 16_000;
const CALM_DELAYS_MS = [100, 0, 500, 20];
const FREEZE_MS = 12_000;

/** A small generator of numbers in [0, 1) (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function planFaults(options: ScheduleOptions): PlannedFault[] {
  const random = seeded(options.seed);
  const faults: PlannedFault[] = [];
  let bag: FaultKind[] = [];
  let at = 0;
  for (let round = 0; at < options.forMs; ) {
    if (bag.length === 0) {
      const delayMs = CALM_DELAYS_MS[round++ % CALM_DELAYS_MS.length] as number;
      if (faults.length > 0) at = Math.max(at, ...faults.map(endOf)) + RECOVERY_MS;
      faults.push({ kind: 'calm', node: null, afterMs: Math.round(at), lastsMs: options.calmMs, delayMs });
      at += options.calmMs + options.pauseMs / 2;
      if (options.kinds.length === 0) continue;
      while (bag.length < FAULT_KINDS.length) bag.push(...options.kinds);
      continue;
    }
    const [kind] = bag.splice(Math.floor(random() * bag.length), 1) as [FaultKind];
    const details = detailsOf(kind, options.nodes, random);
    faults.push({ kind, afterMs: Math.round(at), ...details });
    at += options.pauseMs * (0.5 + random());
  }
  return faults.filter(({ afterMs }) => afterMs < options.forMs);
}

const endOf = ({ afterMs, lastsMs }: PlannedFault) => afterMs + lastsMs;

function detailsOf(
  kind: FaultKind,
  nodes: number,
  random: () => number,
): Pick<PlannedFault, 'node' | 'lastsMs' | 'delayMs'> {
  const node = Math.floor(random() * nodes);
  const between = (least: number, most: number) => Math.round(least + random() * (most - least));
  switch (kind) {
    case 'freeze node':
      return { node, lastsMs: FREEZE_MS, delayMs: 0 };
    case 'stall node':
      return { node, lastsMs: between(3_500, 5_500), delayMs: 0 };
    case 'pause node':
      return { node, lastsMs: between(500, 2_500), delayMs: 0 };
    case 'kill database':
      return { node: null, lastsMs: between(0, 4_000), delayMs: 0 };
    case 'delay database':
      return {
        node: random() < 0.5 ? node : null,
        lastsMs: between(3_000, 9_000),
        delayMs: between(20, 500),
      };
    case 'slow tokens':
      return { node: null, lastsMs: between(4_000, 10_000), delayMs: between(1_000, 4_000) };
    case 'kill node':
    case 'stop node':
      return { node, lastsMs: 0, delayMs: 0 };
    case 'cut connections':
    case 'calm':
      return { node: null, lastsMs: 0, delayMs: 0 };
  }
}
