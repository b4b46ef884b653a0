import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Which of the processes has the other end of a loopback connection; null where the system does not say. */
export function processOfPort(port: number, processes: ReadonlySet<number>): number | null {
  try {
    const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    const line = readFileSync('/proc/net/tcp', 'utf8')
      .split('\n')
      .map((text) => text.trim().split(/\s+/))
      .find((columns) => columns[1] === local);
    const socket = `socket:[${line?.[9] ?? ''}]`;
    return [...processes].find((pid) => hasOpen(pid, socket)) ?? null;
  } catch {
    return null;
  }
}

function hasOpen(pid: number, target: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === target);
  } catch {
    return false;
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
