import { withUsualParts } from '../../domain/resources/fields.ts';
import { subscriptionFields } from '../../domain/resources/subscription-fields.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { StartupError } from '../../platform/startup-error.ts';
import { withSecrets } from './file-secrets.ts';
import {
  type Document,
  type Fields,
  fieldsOf,
  type Item,
  isSame,
  type Kind,
  kinds,
  singular,
} from './project-document.ts';
import type { ProjectState } from './read-project.ts';

export interface Change {
  action: 'create' | 'update' | 'delete' | 'deprecate';
  kind: Kind | 'settings';
  key: string;
  /** The fields that change, of an update. */
  fields: string[];
  /** As it is to be, with secrets. Absent: it goes. */
  wanted?: Fields;
  /** Why it cannot be made. */
  problem?: string;
}

/** Parts that services complete with values of their own. Only what the file names is compared. */
const COMPLETED = new Set([
  'authentication',
  'pub_sub',
  'db_change_stream',
  'schedule',
  'mtls_client_cert',
  'broker',
]);

/** The changes of an apply, in its order. Items without a stored key are not of the file, and stay as they are. */
export async function makePlan(
  state: ProjectState,
  document: Document,
  { env, prune }: { env: NodeJS.ProcessEnv; prune: boolean },
): Promise<Change[]> {
  const changes: Change[] = [];
  const settings: Change = { action: 'update', kind: 'settings', key: '', fields: [] };
  const given = await orProblem(
    settings,
    withSecrets('settings', document.settings, { stored: state.settings, env }),
    (wanted) => {
      const isKept = (name: string) =>
        name === 'variables'
          ? isSame(wanted[name], state.settings[name])
          : isPart(wanted[name], state.settings[name]);
      const fields = Object.keys(wanted).filter((name) => !isKept(name));
      return fields.length === 0 ? undefined : { ...settings, fields, wanted };
    },
  );
  if (given !== undefined) changes.push(given);
  for (const kind of kinds)
    for (const item of document[kind]) {
      const stored = managed(state, kind).get(item.key);
      const action = stored === undefined ? 'create' : 'update';
      const change = await orProblem(
        { action, kind, key: item.key, fields: [] },
        withSecrets(kind, wantedOf(kind, item), { stored, env }),
        (wanted) => changeOf(kind, wanted, stored),
      );
      if (change !== undefined) changes.push(change);
    }
  return prune ? [...changes, ...removals(state, document)] : changes;
}

/** A secret that cannot be read is a problem of its item. The other items are planned all the same. */
async function orProblem<T>(
  change: Change,
  secrets: Promise<T>,
  make: (wanted: T) => Change | undefined,
): Promise<Change | undefined> {
  try {
    return make(await secrets);
  } catch (error) {
    if (error instanceof StartupError) return { ...change, problem: error.message };
    throw error;
  }
}

/** An item with the usual values of the fields that the file leaves out, and of the parts of groups. */
function wantedOf(kind: Kind, item: Item): Item {
  const usual = Object.entries(fieldsOf[kind]).filter(([, value]) => value !== undefined);
  const wanted = { ...Object.fromEntries(usual), ...item };
  return kind === 'subscriptions' ? withUsualParts(subscriptionFields, wanted) : wanted;
}

function changeOf(kind: Kind, wanted: Item, stored: Item | undefined): Change | undefined {
  if (stored === undefined) return { action: 'create', kind, key: wanted.key, fields: [], wanted };
  const fields = Object.keys(fieldsOf[kind]).filter((name) => isChange(kind, name, { wanted, stored }));
  return fields.length === 0 ? undefined : { action: 'update', kind, key: wanted.key, fields, wanted };
}

function isChange(kind: Kind, name: string, { wanted, stored }: { wanted: Item; stored: Item }): boolean {
  const value = wanted[name];
  // The status of an endpoint is also changed by the service, so a file that does not name it leaves it alone.
  if (kind === 'endpoints' && name === 'status') return value !== '' && value !== (stored[name] || 'active');
  if (kind === 'sources' && name === 'cloudevents' && value === null) return false;
  // A deprecation cannot be taken back.
  if (kind === 'event_types' && value === false) return false;
  if (kind === 'endpoints' && name === 'secret' && value === '') return false;
  if (name === 'expires_at') return instantOf(value) !== instantOf(stored[name]);
  if (COMPLETED.has(name) && value !== null) return !isPart(value, stored[name]);
  return !isSame(value, stored[name]);
}

/** A time can be written in several ways. What is no time is left to the service. */
function instantOf(value: unknown): unknown {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? value : ms;
}

/** Whether everything that `part` names is so in `whole`. */
function isPart(part: unknown, whole: unknown): boolean {
  if (!isObject(part)) return isSame(part, whole);
  return isObject(whole) && Object.keys(part).every((name) => isPart(part[name], whole[name]));
}

function removals(state: ProjectState, document: Document): Change[] {
  return kinds.toReversed().flatMap((kind) => {
    const kept = new Set(document[kind].map(({ key }) => key));
    return [...managed(state, kind)]
      .filter(([key, item]) => !kept.has(key) && item['deprecated'] !== true)
      .map(
        ([key]): Change => ({
          action: kind === 'event_types' ? 'deprecate' : 'delete',
          kind,
          key,
          fields: [],
        }),
      );
  });
}

/** The items that have a stored key. */
export function managed(state: ProjectState, kind: Kind): Map<string, Item> {
  const made = new Set(state.newKeys.filter((one) => one.kind === kind).map(({ key }) => key));
  return new Map([...state.whole[kind]].filter(([key]) => !made.has(key)));
}

const SIGNS = { create: '+', update: '~', delete: '-', deprecate: '-' } as const;

export const itemName = ({ kind, key }: Change): string =>
  kind === 'settings' ? 'settings' : `${singular[kind]} ${key}`;

export function changeLine(change: Change): string {
  const { action, fields } = change;
  return `${SIGNS[action]} ${action} ${itemName(change)}${fields.length === 0 ? '' : `: ${fields.join(', ')}`}`;
}
