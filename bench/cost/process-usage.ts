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
  /** Its own time. Ended threads are included. */
  ticks: number;
  /** The time of ended children. */
  childTicks: number;
  residentPages: number;
  sharedPages: number;
}

export function usageOf(pid: number): Usage | null {
  const tree = treeOf(pid);
  if (tree === null) return null;
  let cpuSeconds = 0;
  let pages = 0;
  let mostShared = 0;
  for (const [member, stat] of tree) {
    cpuSeconds += Math.max(stat.ticks / TICKS_PER_SECOND, runSeconds(member));
    cpuSeconds += stat.childTicks / TICKS_PER_SECOND;
    pages += stat.residentPages - stat.sharedPages;
    mostShared = Math.max(mostShared, stat.sharedPages);
  }
  // Shared pages (a database's buffers, the program itself) count once for the whole tree.
  return { cpuSeconds, memoryBytes: (pages + mostShared) * PAGE_BYTES };
}

/** The process and its descendants. */
export function treeOf(pid: number): Map<number, Stat> | null {
  const stats = new Map<number, Stat>();
  try {
    for (const name of readdirSync('/proc')) {
      const stat = /^\d+$/.test(name) ? readStat(name) : null;
      if (stat !== null) stats.set(Number(name), stat);
    }
  } catch {
    return null;
  }
  const tree = new Map<number, Stat>();
  const add = (member: number) => {
    const stat = stats.get(member);
    if (stat === undefined || tree.has(member)) return;
    tree.set(member, stat);
    for (const [child, { parent }] of stats) if (parent === member) add(child);
  };
  add(pid);
  return tree;
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
      ticks: number(11) + number(12),
      childTicks: number(13) + number(14),
      residentPages: Number(memory[1]),
      sharedPages: Number(memory[2]),
    };
  } catch {
    return null;
  }
}

/**
 * The time of the threads that live, in nanoseconds. Ticks are rounded down, and a database has many processes
 * with less than a tick each.
 */
function runSeconds(pid: number): number {
  let nanos = 0;
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`))
      nanos += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
  } catch {
    // The process or a thread has ended, or the kernel does not count. The ticks have it.
  }
  return nanos / 1e9;
}
