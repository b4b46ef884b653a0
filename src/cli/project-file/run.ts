import { PosthornError } from '../../../client/src/posthorn.ts';
import { EXIT, StartupError } from '../../platform/startup-error.ts';
import { clientOf, connectionOf, explanation, withService } from '../remote/connect.ts';
import type { Given } from '../terminal/command.ts';
import { readInput } from '../terminal/input.ts';
import { counted, line, note } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import { applyChange, type Target } from './apply-changes.ts';
import { moveSecrets } from './file-secrets.ts';
import { findRefusals } from './find-refusals.ts';
import { type ForeignService, readForeign } from './foreign-service.ts';
import { convoy } from './from-convoy.ts';
import { outpost } from './from-outpost.ts';
import { svix } from './from-svix.ts';
import { type Change, changeLine, itemName, makePlan } from './make-plan.ts';
import { OnVersion } from './on-version.ts';
import { forgetPlan, type Place, readPlan, savePlan } from './plan-record.ts';
import { type Document, documentText, type Item, kinds, parseDocument } from './project-document.ts';
import { type ProjectState, readAnswers, stateOf } from './read-project.ts';

const foreignServices = { convoy, svix, outpost } satisfies Record<string, ForeignService>;

/** Prints a project as a file. Items without a key get one, which is stored. */
export async function exportProject(given: Given): Promise<undefined> {
  const system = given.text('from') ?? 'posthorn';
  const { state, lost } =
    system === 'posthorn'
      ? { state: await readOwn(given), lost: [] }
      : await readForeign(foreignServices[system as keyof typeof foreignServices], given);
  const folder = given.text('secrets');
  const document = folder === undefined ? state.document : await withSecretFiles(state, folder);
  const comments = lost.length === 0 ? [] : [LOST, ...lost.map((problem) => `  - ${problem}`)];
  for (const comment of comments) note(comment === LOST ? `posthorn: ${LOST}` : comment);
  terminal().stdout.write(await documentText(document, comments));
  return undefined;
}

const LOST = 'not carried over, or changed:';

function readOwn(given: Given): Promise<ProjectState> {
  return withService(given, async (posthorn, projectId) => {
    const found = stateOf(await readAnswers(posthorn, projectId));
    for (const { kind, id, key } of found.newKeys) await posthorn[kind].update(id, { key });
    return found;
  });
}

async function withSecretFiles(state: ProjectState, folder: string): Promise<Document> {
  const document = { ...state.document };
  for (const kind of kinds) {
    const items: Item[] = [];
    for (const { key } of document[kind])
      items.push(await moveSecrets(folder, kind, state.whole[kind].get(key) ?? { key }));
    document[kind] = items;
  }
  const { key: _key, ...settings } = await moveSecrets(folder, 'settings', {
    ...state.settings,
    key: 'project',
  });
  document.settings = settings;
  note(
    `posthorn: the secrets are in ${folder}, readable by you alone; delete it when they are no longer needed`,
  );
  return document;
}

interface Planned {
  changes: Change[];
  /** Each change that cannot be made, with the reason. */
  refusals: string[];
  /** The version of the config that the plan is for. */
  version: string;
  onVersion: OnVersion;
  place: Place;
  target: Target;
}

/** Plans the file, and hands over the plan with a client whose changes are made on the planned version only. */
async function withPlan(given: Given, work: (planned: Planned) => Promise<number>): Promise<number> {
  const { env } = given;
  const file = given.required('file');
  const document = await parseDocument((await readInput(file)).toString('utf8'));
  const onVersion = new OnVersion();
  return withService(
    given,
    async (posthorn, projectId) => {
      const state = stateOf(await readAnswers(posthorn, projectId));
      const { version } = onVersion;
      if (version === undefined)
        throw new StartupError('the service does not tell the version of its config; update the service');
      const changes = await makePlan(state, document, { env, prune: given.has('prune') });
      const connection = await connectionOf(given);
      const dryRun = clientOf({ ...connection, project: projectId }, { fetch: onVersion.dryRun });
      const refusals = await findRefusals({ dryRun, posthorn, projectId, state }, changes);
      const place = { url: connection.url, project: projectId, file, env };
      const target = { posthorn, projectId, ids: state.ids, generated: [] };
      return work({ changes, refusals, version, onVersion, place, target });
    },
    { fetch: onVersion.fetch },
  );
}

/** Shows what an apply would change. Exit code 2: something. */
export function plan(given: Given): Promise<number> {
  return withPlan(given, async (planned) => {
    const { changes, version, place } = planned;
    for (const change of changes) line(changeLine(change));
    stopIfRefused(planned);
    await savePlan(place, version);
    line(
      changes.length === 0
        ? 'No changes.'
        : `${counted(changes.length, 'change')}, on config version ${version}.`,
    );
    return changes.length === 0 ? EXIT.done : EXIT.changes;
  });
}

function stopIfRefused({ refusals, place }: Planned): void {
  if (refusals.length === 0) return;
  for (const refusal of refusals) note(`! ${refusal}`);
  throw new StartupError(
    `${counted(refusals.length, 'refusal')}, and nothing was changed; correct the items above in ${place.file} and run posthorn plan again`,
  );
}

/** Makes the project as the file says. */
export function apply(given: Given): Promise<number> {
  return withPlan(given, async (planned) => {
    const { changes, version, place, target } = planned;
    const record = await readPlan(place);
    const expected = given.text('config-version') ?? record?.config_version;
    if (expected !== undefined && expected !== version)
      throw new StartupError(
        `the config changed since the plan (version ${expected} then, ${version} now); run posthorn plan again`,
      );
    stopIfRefused(planned);
    await applyAll(planned, { isPlanned: record !== undefined, isFixed: given.has('config-version') });
    await forgetPlan(place);
    for (const key of target.generated)
      line(
        `generated a secret for endpoint ${key}: posthorn endpoints get ${target.ids.endpoints.get(key)} --output json shows it`,
      );
    line(changes.length === 0 ? 'No changes.' : `${counted(changes.length, 'change')} applied.`);
    return EXIT.done;
  });
}

/**
 * Stops at the first change that fails. The record of the plan keeps up with the changes, so that the next apply goes on
 * there, also after a kill.
 */
async function applyAll(
  planned: Planned,
  { isPlanned, isFixed }: { isPlanned: boolean; isFixed: boolean },
): Promise<void> {
  const { changes, target, onVersion, place } = planned;
  for (const [done, change] of changes.entries()) {
    try {
      await applyChange(target, change);
    } catch (error) {
      throw error instanceof PosthornError ? stoppedAt(planned, { done, isFixed }, error) : error;
    } finally {
      if (isPlanned) await savePlan(place, onVersion.version ?? '');
    }
    line(`${changeLine(change)} (${done + 1} of ${changes.length})`);
  }
}

function stoppedAt(
  { changes, place, onVersion }: Planned,
  { done, isFixed }: { done: number; isFixed: boolean },
  cause: PosthornError,
): StartupError {
  if (cause.code === 'config_changed')
    return new StartupError(
      `another caller changed the config after ${done} of ${counted(changes.length, 'change')}; run posthorn plan again, which shows what is left`,
      { cause },
    );
  const { message, exitCode } = explanation(cause, place.url);
  const change = changes[done] as Change;
  return new StartupError(
    `stopped at change ${done + 1} of ${changes.length}, ${change.action} ${itemName(change)}: ${message.replace(/\.$/, '')}. ${done} were made. Then run posthorn apply again${isFixed ? `, with --config-version ${onVersion.version}` : ''}: it goes on there`,
    { cause, exitCode },
  );
}
