import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

/**
 * Finds the process at the other end of a loopback connection, in its own thread: reading /proc takes
 * milliseconds, and connections come by the hundred. One read serves every query since the last.
 */
const PAUSE_MS = 20;

const processes = new Set<number>();
let asked: number[] = [];
let isLooking = false;

parentPort?.on('message', (message: { process: number } | { port: number }) => {
  if ('process' in message) processes.add(message.process);
  else asked.push(message.port);
  if (!isLooking && asked.length > 0) void look();
});

async function look(): Promise<void> {
  isLooking = true;
  while (asked.length > 0) {
    const ports = asked;
    asked = [];
    const socketOf = socketsByPort();
    const processOf = processesBySocket();
    const found = ports.map((port) => [port, processOf.get(socketOf.get(port) ?? '') ?? null]);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    parentPort?.postMessage(found);
    await delay(PAUSE_MS);
  }
  isLooking = false;
}

function socketsByPort(): Map<number, string> {
  const sockets = new Map<number, string>();
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const columns = line.trim().split(/\s+/);
    const [address, port] = (columns[1] ?? '').split(':');
    if (address === '0100007F') sockets.set(Number.parseInt(port ?? '', 16), `socket:[${columns[9]}]`);
  }
  return sockets;
}

function processesBySocket(): Map<string, number> {
  const owners = new Map<string, number>();
  for (const pid of processes) {
    for (const fd of descriptorsOf(pid)) {
      const target = targetOf(`/proc/${pid}/fd/${fd}`);
      if (target?.startsWith('socket:')) owners.set(target, pid);
    }
  }
  return owners;
}

/** An ended process is not queried again. */
function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    processes.delete(pid);
    return [];
  }
}

function targetOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    // Closed since it was listed.
    return null;
  }
}
