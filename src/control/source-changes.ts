import { changeOf } from '../domain/audit.ts';
import { found } from '../domain/errors.ts';
import type { SourceId } from '../domain/ids.ts';
import type { SourceFields } from '../domain/resources/source-fields.ts';
import { deleteSource as deleteRow, saveSource } from '../store/changes/source-writes.ts';
import { deleteSubscriptions } from '../store/changes/subscription-writes.ts';
import type { SourceRow } from '../store/config/sources.ts';
import type { Author, ConfigChanges } from './config-changes.ts';
import { needNewerNodes } from './older-nodes.ts';

/** A source as it is to be. */
export type SourceContent = SourceFields & Pick<SourceRow, 'secret'>;

export function createSource(changes: ConfigChanges, by: Author, made: SourceContent): Promise<SourceRow> {
  return changes.change(by, async (change) => {
    if (usesWorkload(made)) await needNewerNodes(change, 'credentials');
    const saved = await saveSource(change, changes.deps.sources, { ...made, id: changes.deps.ids.next() });
    return { result: saved, audit: [changeOf('source.created', null, saved)] };
  });
}

/** `make` gives the source as it is to be. */
export function updateSource(
  changes: ConfigChanges,
  { id, ...by }: Author & { id: SourceId },
  make: (row: SourceRow) => SourceContent,
): Promise<SourceRow> {
  return changes.change(by, async (change) => {
    const known = found(await changes.deps.sources.get(change, by.projectId, id), 'source', id);
    const made = make(known);
    if (usesWorkload(made)) await needNewerNodes(change, 'credentials');
    const saved = await saveSource(change, changes.deps.sources, { ...made, id });
    return { result: saved, audit: [changeOf('source.updated', known, saved)] };
  });
}

function usesWorkload({ secret }: SourceContent): boolean {
  const { pub_sub } = secret.reveal();
  if (pub_sub?.type === 'sqs') return pub_sub.sqs.credentials === 'workload';
  return pub_sub?.type === 'google' && pub_sub.google.credentials === 'workload';
}

/** Deletes a source and its subscriptions. */
export function deleteSource(
  changes: ConfigChanges,
  { id, ...by }: Author & { id: SourceId },
): Promise<null> {
  const { sources } = changes.deps;
  return changes.change(by, async (change) => {
    const row = found(await sources.get(change, by.projectId, id), 'source', id);
    await deleteRow(change, sources, id);
    const subscriptions = await deleteSubscriptions(change, { column: 'source_id', value: id });
    const ended = subscriptions.map((subscription) => changeOf('subscription.deleted', subscription, null));
    return { result: null, audit: [changeOf('source.deleted', row, null), ...ended] };
  });
}

/** Records when a Twitter source last answered its challenge. */
export async function recordChallenge(
  changes: ConfigChanges,
  { id, project_id: projectId }: SourceRow,
  verifiedAt: string,
): Promise<void> {
  await changes.changeStateInTurn(projectId, async (change) => {
    const known = await changes.deps.sources.get(change, projectId, id);
    if (known === undefined) return;
    const provider_config = { twitter: { crc_verified_at: verifiedAt } };
    await saveSource(change, changes.deps.sources, { ...known, provider_config });
  });
}
