import { readFileSync } from 'node:fs';
import { treeOf } from './process-usage.ts';

/**
 * The memory of a process and its descendants, with shared pages counted once. `pssBytes` is the sum of the
 * kernel's proportional set sizes. It divides a page of a program or library by all processes of the machine
 * that use it, so each Node that runs elsewhere makes ours look smaller, and so does the bench itself.
 * `memoryBytes` counts those pages in full: for each mapping of a file, the most that one process has of it.
 */
export interface Memory {
  pssBytes: number;
  memoryBytes: number;
}

const KIB = 1024;

/** Null without /proc/PID/smaps_rollup: only Linux has it. */
export function memoryOf(pid: number): Memory | null {
  const tree = treeOf(pid);
  if (tree === null) return null;
  let pssBytes = 0;
  let notOfFiles = 0;
  const files = new Map<string, number>();
  for (const member of tree.keys()) {
    const rollup = read(member, 'smaps_rollup');
    if (rollup === '' && member === pid) return null;
    if (rollup === '') continue;
    pssBytes += field(rollup, 'Pss');
    notOfFiles += field(rollup, 'Pss_Anon') + field(rollup, 'Pss_Shmem');
    for (const [name, bytes] of filePages(member)) files.set(name, Math.max(files.get(name) ?? 0, bytes));
  }
  return { pssBytes, memoryBytes: notOfFiles + [...files.values()].reduce((sum, bytes) => sum + bytes, 0) };
}

/** Empty: the process has ended. The database starts short ones all the time. */
function read(pid: number, name: 'smaps' | 'smaps_rollup'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

/** Resident bytes of each mapping of a file, by its path and offset. */
function filePages(pid: number): [name: string, bytes: number][] {
  const mappings = read(pid, 'smaps').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
  return mappings.flatMap((text) => {
    // Address, permissions, offset, device, inode, path. A deleted file is shared memory.
    const head = /^\S+ \S+ (?<offset>\S+) \S+ \d+ +(?<path>\/.*)$/m.exec(text)?.groups;
    if (head === undefined || head['path']?.endsWith(' (deleted)')) return [];
    return [[`${head['path']} ${head['offset']}`, field(text, 'Rss') - field(text, 'Anonymous')]];
  });
}

function field(text: string, name: string): number {
  return Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(text)?.[1] ?? Number.NaN) * KIB;
}
