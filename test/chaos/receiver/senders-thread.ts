import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

/**
 * Finds the process at the other end of a loopback connection, in its own thread: reading /proc takes
 * milliseconds, and connections come by the hundred. One read serves every query since the last.
 */
const PAUSE_MS = 20;
/** 127.0.0.1 as the kernel writes it. */
const LOOPBACK = '0100007F';

const processes = new Set<number>();
/** The ports of both ends, that of the sender first. */
let asked: string[] = [];
let isLooking = false;

parentPort?.on('message', (message: { process: number } | { connection: string }) => {
  if ('process' in message) processes.add(message.process);
  else asked.push(message.connection);
  if (!isLooking && asked.length > 0) void look();
});

async function look(): Promise<void> {
  isLooking = true;
  while (asked.length > 0) {
    const connections = asked;
    asked = [];
    const socketOf = socketsByPorts();
    const processOf = processesBySocket();
    const found = connections.map((ports) => [ports, processOf.get(socketOf.get(ports) ?? '') ?? null]);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    parentPort?.postMessage(found);
    await delay(PAUSE_MS);
  }
  isLooking = false;
}

function socketsByPorts(): Map<string, string> {
  const sockets = new Map<string, string>();
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const columns = line.trim().split(/\s+/);
    const [own, other] = [columns[1], columns[2]].map((end) => (end ?? '').split(':'));
    if (own?.[0] !== LOOPBACK || other?.[0] !== LOOPBACK) continue;
    const ports = [own, other].map(([, port]) => Number.parseInt(port ?? '', 16)).join(' ');
    sockets.set(ports, `socket:[${columns[9]}]`);
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
