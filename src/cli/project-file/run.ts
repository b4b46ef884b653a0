import { type Posthorn, PosthornError } from '../../../client/src/posthorn.ts';
import { EXIT, StartupError } from '../../platform/startup-error.ts';
import { connectionOf, withService } from '../remote/connect.ts';
import type { Given } from '../terminal/command.ts';
import { readInput } from '../terminal/input.ts';
import { counted, line, note } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import { applyChange, type Target } from './apply-changes.ts';
import { type Document, documentText, type Item, kinds, parseDocument } from './document.ts';
import { readConvoy } from './from-convoy.ts';
import { type Change, changeLine, makePlan } from './make-plan.ts';
import { OnVersion } from './on-version.ts';
import { forgetPlan, readPlan, savePlan } from './plan-record.ts';
import { type ProjectState, readAnswers, stateOf } from './read-project.ts';
import { moveSecrets } from './secrets.ts';

/** Prints a project as a file. Items without a key get one, which is stored. */
export async function exportProject(given: Given): Promise<undefined> {
  const isForeign = given.text('from') === 'convoy';
  const state = isForeign
    ? await readConvoy(given)
    : await withService(given, async (posthorn, projectId) => {
        const found = stateOf(await readAnswers(posthorn, projectId));
        for (const { kind, id, key } of found.newKeys) await storeKey(posthorn, { kind, id, key });
        return found;
      });
  const folder = given.text('secrets');
  const document = folder === undefined ? state.document : await withSecretFiles(state, folder);
  terminal().stdout.write(await documentText(document));
  return undefined;
}

async function storeKey(
  posthorn: Posthorn,
  { kind, id, key }: ProjectState['newKeys'][number],
): Promise<void> {
  if (kind === 'sources') await posthorn.sources.update(id, { key });
  if (kind === 'endpoints') await posthorn.endpoints.update(id, { key });
  if (kind === 'subscriptions') await posthorn.subscriptions.update(id, { key });
}

async function withSecretFiles(state: ProjectState, folder: string): Promise<Document> {
  const document = { ...state.document };
  for (const kind of kinds) {
    const items: Item[] = [];
    for (const { key } of document[kind])
      items.push(await moveSecrets(folder, kind, state.whole[kind].get(key) ?? { key }));
    document[kind] = items;
  }
  note(
    `posthorn: the secrets are in ${folder}, readable by you alone; delete it when they are no longer needed`,
  );
  return document;
}

interface Planned {
  changes: Change[];
  /** The version of the config that the plan is for. */
  version: string;
  place: { url: string; project: string; file: string; env: NodeJS.ProcessEnv };
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
    async (posthorn, project) => {
      const state = stateOf(await readAnswers(posthorn, project));
      const { version } = onVersion;
      if (version === undefined)
        throw new StartupError('the service does not tell the version of its config; update the service');
      const changes = await makePlan(state, document, { env, prune: given.has('prune') });
      const { url } = await connectionOf(given);
      const target = { posthorn, projectId: project, ids: state.ids, generated: [] };
      return work({ changes, version, place: { url, project, file, env }, target });
    },
    { fetch: onVersion.fetch },
  );
}

/** Shows what an apply would change. Exit code 2: something. */
export function plan(given: Given): Promise<number> {
  return withPlan(given, async ({ changes, version, place }) => {
    await savePlan(place, version);
    for (const change of changes) line(changeLine(change));
    line(
      changes.length === 0
        ? 'No changes.'
        : `${counted(changes.length, 'change')}, on config version ${version}.`,
    );
    return changes.length === 0 ? EXIT.done : EXIT.changes;
  });
}

/** Makes the project as the file says. */
export function apply(given: Given): Promise<number> {
  return withPlan(given, async ({ changes, version, place, target }) => {
    const expected = given.text('config-version') ?? (await readPlan(place))?.config_version;
    if (expected !== undefined && expected !== version)
      throw new StartupError(
        `the config changed since the plan (version ${expected} then, ${version} now); run posthorn plan again`,
      );
    await applyAll(target, changes);
    await forgetPlan(place);
    for (const key of target.generated)
      line(
        `generated a secret for endpoint ${key}: posthorn endpoints get ${target.ids.endpoints.get(key)} --output json shows it`,
      );
    line(changes.length === 0 ? 'No changes.' : `${counted(changes.length, 'change')} applied.`);
    return EXIT.done;
  });
}

/** Stops before the first change that the service refuses because another caller made one. */
async function applyAll(target: Target, changes: readonly Change[]): Promise<void> {
  let done = 0;
  try {
    for (const change of changes) {
      await applyChange(target, change);
      line(changeLine(change));
      done += 1;
    }
  } catch (error) {
    if (!(error instanceof PosthornError) || error.code !== 'config_changed') throw error;
    throw new StartupError(
      `another caller changed the config after ${done} of ${counted(changes.length, 'change')}; run posthorn plan again, which shows what is left`,
      { cause: error },
    );
  }
}
