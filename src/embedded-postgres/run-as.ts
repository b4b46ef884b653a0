import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/*
 * How a command of the server runs: as us, as another user, or as us under another number (a user namespace).
 *
 * The data directory stays closed to all other users. The server need not traverse the path to its cluster.
 * Its command starts inside the cluster before root's privileges are dropped, and uses HERE, its working
 * directory, as the name. Every process of the server stays in that directory, so the name means the same to
 * all of them.
 */
const HERE = '/proc/self/cwd';

export type RunAs =
  | { readonly kind: 'self' }
  | { readonly kind: 'user'; readonly uid: number; readonly gid: number }
  | { readonly kind: 'namespace'; readonly uid: number; readonly gid: number };

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** For child_process: identity and a clean environment (PGPORT, PGDATA and others would change the server). */
  readonly options: { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number };
}

/** The uid, as this process sees it, that owns the files of the server. */
export function ownerUid(runAs: RunAs): number {
  return runAs.kind === 'user' ? runAs.uid : (process.geteuid?.() ?? 0);
}

/** The name of `directory` for a command that runs in it. */
export function nameFromWithin(directory: string): string {
  return existsSync(HERE) ? HERE : directory;
}

interface Order {
  readonly file: string;
  readonly args: readonly string[];
  /** The working directory. */
  readonly cwd: string;
}

export function commandAs(runAs: RunAs, { file, args, cwd }: Order): Command {
  const options = { cwd, env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' } };
  if (runAs.kind === 'self') return { file, args, options };
  if (runAs.kind === 'user') return { file, args, options: { ...options, uid: runAs.uid, gid: runAs.gid } };
  const mapping = ['--user', `--map-user=${runAs.uid}`, `--map-group=${runAs.gid}`, '--'];
  return { file: 'unshare', args: [...mapping, file, ...args], options };
}

export function runToEnd(command: Command): SpawnSyncReturns<string> {
  return spawnSync(command.file, command.args, { ...command.options, encoding: 'utf8' });
}
