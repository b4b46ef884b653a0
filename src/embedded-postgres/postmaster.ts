import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../platform/startup-error.ts';
import { type Command } from './run-as.ts';

/*
 * The server process: starting -> ready -> ended. It leads a session of its own, so a Ctrl-C in the terminal
 * reaches only us and we stop it last. It writes its log itself, so it neither needs us nor blocks on us.
 */
const LOG_KEPT_BYTES = 10 * 1024 * 1024;
const FAST_SHUTDOWN_MS = 20_000;
const STILL_RECOVERING_MS = 5_000;

export interface Postmaster {
  readonly pid: number;
  /** Settles when the process has ended, with a sentence that says how. */
  readonly ended: Promise<string>;
  /** Fast shutdown: open transactions are rolled back, everything committed is on disk. */
  stop(): Promise<void>;
  /** Requests the same without waiting. */
  readonly requestStop: () => void;
}

interface Launch {
  readonly command: Command;
  readonly cluster: string;
  readonly logFile: string;
  readonly onSlowStart: () => void;
}

export async function startPostmaster(launch: Launch): Promise<Postmaster> {
  const { command, logFile } = launch;
  const log = await openLog(logFile);
  let child: ChildProcess;
  let ended: Promise<string>;
  try {
    child = spawn(command.file, command.args, {
      ...command.options,
      detached: true,
      stdio: ['ignore', log.handle.fd, log.handle.fd],
    });
    // Before anything is awaited: a server that refuses a setting ends within milliseconds.
    ended = endOf(child);
  } finally {
    await log.handle.close();
  }
  await untilReady(child, ended, launch).catch(async (error: Error) => {
    const reason = await lastComplaint(logFile, log.startsAt);
    throw new StartupError(
      `the embedded PostgreSQL did not start: ${reason ?? error.message}; its log is ${logFile}`,
      { cause: error },
    );
  });
  return {
    pid: child.pid!,
    ended,
    stop: () => stopChild(child),
    requestStop: () => void child.kill('SIGINT'),
  };
}

/** How it ended, in words. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((settle) => {
    child.once('error', (error) => settle(`PostgreSQL could not be run: ${error.message}`));
    child.once('exit', (code, signal) => {
      const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
      settle(`PostgreSQL (pid ${child.pid}) ${how}`);
    });
  });
}

async function openLog(
  logFile: string,
): Promise<{ handle: Awaited<ReturnType<typeof open>>; startsAt: number }> {
  const before = await stat(logFile).catch(() => undefined);
  const full = before !== undefined && before.size > LOG_KEPT_BYTES;
  if (full) await rename(logFile, `${logFile}.1`);
  return { handle: await open(logFile, 'a', 0o600), startsAt: full ? 0 : (before?.size ?? 0) };
}

/**
 * The server writes its state to the eighth line of postmaster.pid, which pg_ctl also reads. There is no time
 * limit. A live process is replaying its log after a crash, and ending it would restart the replay.
 */
async function untilReady(
  child: ChildProcess,
  ended: Promise<string>,
  { cluster, onSlowStart }: Launch,
): Promise<void> {
  const file = path.join(cluster, 'postmaster.pid');
  let mentionAt = performance.now() + STILL_RECOVERING_MS;
  for (;;) {
    const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return;
    if (hasEnded(child)) throw new Error(await ended);
    if (performance.now() > mentionAt) {
      onSlowStart();
      mentionAt += STILL_RECOVERING_MS;
    }
    await sleep(10);
  }
}

async function lastComplaint(logFile: string, startsAt: number): Promise<string | undefined> {
  const said = (await readFile(logFile)).subarray(startsAt).toString('utf8').split('\n');
  const complaint =
    said.findLast((line) => /(FATAL|PANIC): /.test(line)) ?? said.findLast((line) => line !== '');
  return complaint?.replace(/^.*?(FATAL|PANIC): +/, '');
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const exit = once(child, 'exit');
  child.kill('SIGINT');
  // Past this time the shutdown checkpoint is stuck on a slow disk. The WAL is complete, and the next start
  // replays it.
  const impatience = setTimeout(() => child.kill('SIGQUIT'), FAST_SHUTDOWN_MS);
  await exit;
  clearTimeout(impatience);
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}
