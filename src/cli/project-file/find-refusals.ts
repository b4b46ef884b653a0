import { type Posthorn, PosthornError } from '../../../client/src/posthorn.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { StartupError } from '../../platform/startup-error.ts';
import { problemOf } from '../remote/connect.ts';
import { applyChange, type Target } from './apply-changes.ts';
import { type Change, itemName } from './make-plan.ts';
import { type Fields, valueAt } from './project-document.ts';
import type { ProjectState } from './read-project.ts';

/*
 * Every refusal that an apply would meet, before it begins. The service checks each item by a dry run, on the config as it
 * is now. An apply changes the settings first and creates endpoints before their subscriptions, so the rules that depend on
 * an earlier change are checked here instead: https, and one subscription per endpoint. The items go to the service in a
 * form that these rules allow.
 */
export interface Checked {
  /** Its changes are dry runs. */
  dryRun: Posthorn;
  /** For filters, which have a test of their own. */
  posthorn: Posthorn;
  projectId: string;
  state: ProjectState;
}

export async function findRefusals(checked: Checked, changes: readonly Change[]): Promise<string[]> {
  const { dryRun, projectId, state } = checked;
  const target: Target = { posthorn: dryRun, projectId, ids: state.ids, generated: [], isDryRun: true };
  const ruleProblems = rulesOf(state, changes);
  const refusals: string[] = [];
  for (const change of changes) {
    const problems =
      change.problem === undefined
        ? [
            ...statusProblems(change),
            ...ruleProblems(change),
            ...(await refused(() => applyChange(target, alone(change)))),
            ...(await filterProblems(checked.posthorn, change)),
          ]
        : [change.problem];
    refusals.push(...problems.map((problem) => `${itemName(change)}: ${problem}`));
  }
  return refusals;
}

/** The problem that the service names, if it refuses a call. Any other failure ends the command. */
async function refused(call: () => Promise<unknown>): Promise<string[]> {
  try {
    await call();
    return [];
  } catch (error) {
    if (error instanceof StartupError) return [error.message];
    if (error instanceof PosthornError && REFUSALS.has(error.status)) return [inFile(problemOf(error))];
    throw error;
  }
}

const REFUSALS = new Set([400, 403, 404, 409, 413, 422]);

/** A file has the fields of these objects themselves. */
const inFile = (problem: string): string => problem.replaceAll(/\b(filter_config|config|schema)\./g, '');

/** The change without its links and scheme. */
function alone(change: Change): Change {
  const { kind, wanted = {}, fields } = change;
  if (kind === 'endpoints')
    return { ...change, wanted: { ...wanted, url: String(wanted['url']).replace(/^http:/i, 'https:') } };
  if (kind !== 'subscriptions') return change;
  const { endpoint: _endpoint, source: _source, ...rest } = wanted;
  return { ...change, wanted: rest, fields: fields.filter((name) => name in rest) };
}

/** A status is set by calls of its own, which take none. */
function statusProblems({ kind, wanted = {} }: Change): string[] {
  const status = wanted['status'] ?? '';
  if (kind === 'endpoints' && !['', 'active', 'paused', 'inactive'].includes(status as string))
    return ['status must be active, paused or inactive'];
  if (kind === 'subscriptions' && !['', 'active', 'inactive'].includes(status as string))
    return ['status must be active or inactive'];
  return [];
}

function rulesOf(state: ProjectState, changes: readonly Change[]): (change: Change) => string[] {
  const given = changes.find(({ kind }) => kind === 'settings')?.wanted ?? {};
  const setting = (path: string) => valueAt(given, path) ?? valueAt(state.settings, path);
  const isSecure = setting('ssl.enforce_secure_endpoints') === true;
  const isSingle = setting('multiple_endpoint_subscriptions') === false;
  const endpointOf = new Map([...state.whole.subscriptions].map(([key, item]) => [key, item['endpoint']]));
  return ({ action, kind, key, fields, wanted = {} }) => {
    const isSet = (name: string) => action === 'create' || fields.includes(name);
    if (kind === 'endpoints' && isSecure && isSet('url') && /^http:/i.test(String(wanted['url'])))
      return ['url must start with https://, because ssl.enforce_secure_endpoints is true'];
    if (kind !== 'subscriptions' || !isSet('endpoint')) return [];
    const others = [...endpointOf].filter(([one, at]) => one !== key && at === wanted['endpoint']);
    endpointOf.set(key, wanted['endpoint']);
    if (!isSingle || others.length === 0) return [];
    return [
      `endpoint ${String(wanted['endpoint'])} has the subscription ${others[0]?.[0]}, and multiple_endpoint_subscriptions is false: set it to true`,
    ];
  };
}

async function filterProblems(posthorn: Posthorn, { kind, wanted = {} }: Change): Promise<string[]> {
  if (kind !== 'subscriptions' || !Array.isArray(wanted['filters'])) return [];
  const problems: string[] = [];
  for (const { event_type, enabled: _enabled, ...schema } of wanted['filters'].filter(isObject) as Fields[]) {
    const found = await refused(() => posthorn.subscriptions.testFilter({ schema }));
    problems.push(...found.map((problem) => `the filter of ${String(event_type)}: ${problem}`));
  }
  return problems;
}
