import { readdirSync, readFileSync } from 'node:fs';

/** CPU and memory of a process and its descendants, from /proc. Null without /proc. */
export interface Usage {
  cpuSeconds: number;
  memoryBytes: number;
}

/** USER_HZ: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

interface Stat {
  parent: number;
  /** Its own time and that of ended children. */
  ticks: number;
  residentPages: number;
  sharedPages: number;
}

export function usageOf(pid: number): Usage | null {
  const stats = new Map<number, Stat>();
  try {
    for (const name of readdirSync('/proc')) {
      const stat = /^\d+$/.test(name) ? readStat(name) : null;
      if (stat !== null) stats.set(Number(name), stat);
    }
  } catch {
    return null;
  }
  const tree = new Set([pid]);
  for (let before = 0; before !== tree.size; ) {
    before = tree.size;
    for (const [child, { parent }] of stats) if (tree.has(parent)) tree.add(child);
  }
  let ticks = 0;
  let pages = 0;
  let mostShared = 0;
  for (const member of tree) {
    const stat = stats.get(member);
    if (stat === undefined) continue;
    ticks += stat.ticks;
    pages += stat.residentPages - stat.sharedPages;
    mostShared = Math.max(mostShared, stat.sharedPages);
  }
  // Shared pages (a database's buffers, the program itself) count once for the whole tree.
  return { cpuSeconds: ticks / TICKS_PER_SECOND, memoryBytes: (pages + mostShared) * PAGE_BYTES };
}

/** Null: the process has ended. */
function readStat(pid: string): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const memory = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ');
    const number = (index: number) => Number(fields[index]);
    return {
      parent: number(1),
      ticks: number(11) + number(12) + number(13) + number(14),
      residentPages: Number(memory[1]),
      sharedPages: Number(memory[2]),
    };
  } catch {
    return null;
  }
}
