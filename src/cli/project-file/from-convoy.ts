import type {
  EventType,
  Filter,
  Posthorn,
  Project,
  Source,
  Subscription,
} from '../../../client/src/posthorn.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { StartupError } from '../../platform/startup-error.ts';
import { clientOf } from '../remote/connect.ts';
import { counted } from '../terminal/output.ts';
import type { ForeignConfig, ForeignPlace, ForeignService } from './foreign-service.ts';
import { type Fields } from './project-document.ts';
import { type Answers, all } from './read-project.ts';

/** A Convoy, whose lists and resources have the form of ours. */
export const convoy: ForeignService = {
  name: 'Convoy',
  keyVariable: 'CONVOY_API_KEY',
  projectVariable: 'CONVOY_PROJECT',
  read,
};

async function read({ url, key, project }: ForeignPlace): Promise<ForeignConfig> {
  if (!project) throw new StartupError('name the project of Convoy with --project');
  const posthorn = clientOf({ url, key, project });
  const listed = await all(posthorn.subscriptions.list());
  const own = listed.filter(({ type }) => type !== 'cli');
  const found = await posthorn.projects.get(project);
  const sources = await all(posthorn.sources.list());
  const answers = {
    project: { ...found, config: knownSettings(found) } as unknown as Project,
    eventTypes: await readEventTypes(posthorn),
    sources: sources.map((source) => ({ ...source, is_disabled: source.is_disabled || isBroker(source) })),
    endpoints: await all(posthorn.endpoints.list()),
    ...(await readSubscriptions(posthorn, own)),
  };
  const devices = listed.length - own.length;
  return {
    answers,
    lost: [
      ...unknownSettings(found).map(
        (name) => `The setting ${name} of the project has no counterpart, or is set per instance.`,
      ),
      ...(devices === 0
        ? []
        : [`${counted(devices, 'subscription')} of the type cli: posthorn listen makes its own.`]),
      ...lostOf(answers),
      ...sources.filter((source) => isBroker(source) && !source.is_disabled).map(startsDisabled),
      'Events, deliveries, attempts, portal links and API keys stay in Convoy.',
    ],
  };
}

/** It reads messages itself. */
const isBroker = ({ type }: Source): boolean => type === 'pub_sub' || type === 'db_change_stream';

const startsDisabled = ({ name }: Source): string =>
  `The source ${name} is disabled in the file, because two readers would share its messages: enable it when Convoy no longer reads them.`;

async function readEventTypes(posthorn: Posthorn): Promise<EventType[]> {
  const types = await posthorn.eventTypes.list();
  return types.map((one) => ({ ...one, deprecated_at: one.deprecated_at ?? null }) as EventType);
}

/** Lists have parts of the endpoint and the source; the item has their ids for certain. */
async function readSubscriptions(
  posthorn: Posthorn,
  listed: readonly Subscription[],
): Promise<Pick<Answers, 'subscriptions' | 'filters'>> {
  const filters = new Map<string, Filter[]>();
  const subscriptions: Subscription[] = [];
  for (const { uid } of listed) {
    subscriptions.push(await posthorn.subscriptions.get(uid));
    filters.set(uid, await posthorn.filters.list(uid));
  }
  return { subscriptions, filters };
}

/** The settings that both have, and their members. */
const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  max_payload_read_size: [],
  replay_attacks_prevention_enabled: [],
  add_event_id_trace_headers: [],
  disable_endpoint: [],
  multiple_endpoint_subscriptions: [],
  request_id_header: [],
  search_policy: [],
  verify_dynamic_events: [],
  allow_unmatched_dynamic_urls: [],
  retention_policy: ['policy', 'retention_policy_enabled'],
  strategy: ['type', 'duration', 'retry_count'],
  ratelimit: ['count', 'duration'],
  ssl: ['enforce_secure_endpoints'],
  signature: ['header', 'versions'],
  meta_event: ['is_enabled', 'type', 'event_type', 'url', 'secret'],
  circuit_breaker: [
    'sample_rate',
    'error_timeout',
    'failure_threshold',
    'success_threshold',
    'minimum_request_count',
    'observability_window',
    'consecutive_failure_threshold',
  ],
};

/** Settings of ours with the values that Convoy has, so that a project that is moved behaves as before. */
const OURS: Fields = { http_timeout: 10, disable_after: '' };

function knownSettings(project: Project): Fields {
  const config = (project.config ?? {}) as unknown as Fields;
  const entries = Object.entries(SETTINGS).flatMap(([name, members]): [string, unknown][] => {
    const value = config[name];
    if (value === undefined || value === null || value === '') return [];
    if (members.length === 0) return [[name, value]];
    if (!isObject(value)) return [];
    const known = Object.entries(value).filter(([member, one]) => members.includes(member) && one !== null);
    return [[name, Object.fromEntries(known)]];
  });
  return { ...OURS, ...Object.fromEntries(entries) };
}

function unknownSettings(project: Project): string[] {
  return Object.entries((project.config ?? {}) as unknown as Fields).flatMap(([name, value]) => {
    if (value === null) return [];
    const members = SETTINGS[name];
    if (members === undefined) return [name];
    if (members.length === 0 || !isObject(value)) return [];
    return Object.keys(value)
      .filter((member) => !members.includes(member) && value[member] !== null)
      .map((member) => `${name}.${member}`);
  });
}

function lostOf({ endpoints, sources }: Answers): string[] {
  return [
    ...endpoints.flatMap(({ name, secrets }) =>
      (secrets ?? []).some(({ expires_at }) => expires_at !== null)
        ? [`Old secrets of the endpoint ${name}, which are about to expire.`]
        : [],
    ),
    ...sources
      .filter((source) => !isBroker(source))
      .map(({ name, url }) => `The ingest URL of the source ${name} (${url}): senders need the new one.`),
  ];
}
