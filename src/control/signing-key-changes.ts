import type { AuditNote } from '../domain/audit.ts';
import { isLiveKey, MAX_PROJECT_KEYS, type ProjectKey, publicPart } from '../domain/config/project-key.ts';
import { found, wrongState } from '../domain/errors.ts';
import { formatTime } from '../domain/time.ts';
import { newProjectKey } from '../signing/project-key.ts';
import { saveSigningKeys } from '../store/changes/project-writes.ts';
import type { ProjectRow } from '../store/config/projects.ts';
import type { Author, ConfigChange, ConfigChanges } from './config-changes.ts';
import { needNewerNodes } from './older-nodes.ts';

/**
 * The keys that a project signs with. A new one signs at once, and the one before it for some time along, so that receivers
 * which know only the old one go on until they read the keys again.
 */
export function rollSigningKey(changes: ConfigChanges, by: Author, seconds: number): Promise<ProjectKey> {
  return changeKeys(changes, by, async (live, nowMs, change) => {
    await needNewerNodes(change, 'signing_keys');
    if (live.length >= MAX_PROJECT_KEYS)
      throw wrongState(`${MAX_PROJECT_KEYS} keys sign already: delete one, or wait until one has expired.`);
    const ends = formatTime(nowMs + seconds * 1000);
    const old = live.map((key) => (key.expires_at === null ? { ...key, expires_at: ends } : key));
    const result = newProjectKey(formatTime(nowMs));
    const keys = [...old.filter((key) => isLiveKey(key, nowMs)), result];
    return { result, keys, audit: [note('signing_key.created', null, result)] };
  });
}

/** It signs no more, and is no longer published. */
export function deleteSigningKey(changes: ConfigChanges, by: Author, kid: string): Promise<null> {
  return changeKeys(changes, by, async (live) => {
    const one = live.find((key) => key.kid === kid);
    const known = found(one, 'signing key', kid);
    const keys = live.filter((key) => key !== known);
    return { result: null, keys, audit: [note('signing_key.deleted', known, null)] };
  });
}

function changeKeys<T>(
  changes: ConfigChanges,
  by: Author,
  make: (
    live: readonly ProjectKey[],
    nowMs: number,
    change: ConfigChange,
  ) => Promise<{ result: T; keys: readonly ProjectKey[]; audit: AuditNote[] }>,
): Promise<T> {
  const { projects, now } = changes.deps;
  return changes.change(by, async (change) => {
    const project = (await projects.get(change, by.projectId)) as ProjectRow;
    const nowMs = now();
    const live = project.keys.reveal().filter((key) => isLiveKey(key, nowMs));
    const { result, keys, audit } = await make(live, nowMs, change);
    await saveSigningKeys(change, projects, keys);
    return { result, audit };
  });
}

const note = (
  action: AuditNote['action'],
  before: ProjectKey | null,
  after: ProjectKey | null,
): AuditNote => ({
  action,
  resourceId: (after ?? before)?.kid ?? null,
  before: before && publicPart(before),
  after: after && publicPart(after),
});
