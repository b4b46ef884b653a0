/**
 * What goes wrong and when, made from a seed: the same seed makes the same schedule. Faults follow each other with
 * a pause, and may overlap where one lasts longer than the pause. Each kind comes once before any comes again.
 */
export type FaultKind = 'kill node' | 'kill database' | 'cut connections' | 'freeze node' | 'stop node';

export interface PlannedFault {
  kind: FaultKind;
  /** Which node, by its place; database faults have none. */
  node: number | null;
  afterMs: number;
  /** How long the database stays down, or the node frozen. */
  lastsMs: number;
}

const NODE_FAULTS: FaultKind[] = ['kill node', 'freeze node', 'stop node'];
const ALL: FaultKind[] = ['kill node', 'kill database', 'cut connections', 'freeze node', 'stop node'];

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

export function planFaults(options: {
  seed: number;
  nodes: number;
  forMs: number;
  pauseMs: number;
}): PlannedFault[] {
  const random = seeded(options.seed);
  const faults: PlannedFault[] = [];
  let bag: FaultKind[] = [];
  for (let at = options.pauseMs / 2; at < options.forMs; at += options.pauseMs * (0.5 + random())) {
    if (bag.length === 0) bag = [...ALL];
    const [kind] = bag.splice(Math.floor(random() * bag.length), 1) as [FaultKind];
    faults.push({
      kind,
      node: NODE_FAULTS.includes(kind) ? Math.floor(random() * options.nodes) : null,
      afterMs: Math.round(at),
      lastsMs: kind === 'freeze node' ? 12_000 : kind === 'kill database' ? Math.round(random() * 4_000) : 0,
    });
  }
  return faults;
}
