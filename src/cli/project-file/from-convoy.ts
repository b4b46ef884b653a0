import type { EventType, Filter, Posthorn, Project, Subscription } from '../../../client/src/posthorn.ts';
import { EXIT, StartupError } from '../../platform/startup-error.ts';
import { clientOf, explained } from '../remote/connect.ts';
import type { Given } from '../terminal/command.ts';
import { note } from '../terminal/output.ts';
import { type Fields, isFields } from './document.ts';
import { type Answers, all, type ProjectState, stateOf } from './read-project.ts';

/*
 * Reads a running Convoy through its public API, whose lists and resources have the form of ours. It lists on stderr
 * what a file cannot say, and writes nothing to Convoy.
 */
export async function readConvoy(given: Given): Promise<ProjectState> {
  const url = given.required('url');
  // A key of one service is never sent to the address of another.
  const key = given.env['CONVOY_API_KEY'];
  if (!key)
    throw new StartupError(
      'there is no key of Convoy; set CONVOY_API_KEY (POSTHORN_API_KEY is not sent to a Convoy)',
      { exitCode: EXIT.refused },
    );
  const project = given.text('project') ?? given.env['CONVOY_PROJECT'];
  if (!project) throw new StartupError('name the project of Convoy with --project');
  const connection = { url, key, project };
  const answers = await explained(connection, () => readAll(clientOf(connection), project));
  const problems = [
    ...new Set([...lost(answers), 'Events, deliveries, attempts, portal links and API keys stay in Convoy.']),
  ];
  note('posthorn: not carried over:');
  for (const problem of problems) note(`  - ${problem}`);
  return stateOf(answers);
}

async function readAll(posthorn: Posthorn, projectId: string): Promise<Answers> {
  const listed = await all(posthorn.subscriptions.list());
  const filters = new Map<string, Filter[]>();
  const subscriptions: Subscription[] = [];
  for (const { uid, type } of listed) {
    if (type === 'cli') continue;
    // Lists have parts of the endpoint and the source; the item has their ids for certain.
    subscriptions.push(await posthorn.subscriptions.get(uid));
    filters.set(uid, await posthorn.filters.list(uid));
  }
  const [project, eventTypes] = [await posthorn.projects.get(projectId), await posthorn.eventTypes.list()];
  return {
    project: { ...project, config: knownSettings(project) } as unknown as Project,
    eventTypes: eventTypes.map((one) => ({ ...one, deprecated_at: one.deprecated_at ?? null }) as EventType),
    sources: await all(posthorn.sources.list()),
    endpoints: await all(posthorn.endpoints.list()),
    subscriptions,
    filters,
    dropped: unknownSettings(project),
    skipped: listed.length - subscriptions.length,
  };
}

/** The settings that both have. */
const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  max_payload_read_size: [],
  replay_attacks_prevention_enabled: [],
  add_event_id_trace_headers: [],
  disable_endpoint: [],
  multiple_endpoint_subscriptions: [],
  request_id_header: [],
  search_policy: [],
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

function knownSettings(project: Project): Fields {
  const config = (project.config ?? {}) as unknown as Fields;
  const entries = Object.entries(SETTINGS).flatMap(([name, members]): [string, unknown][] => {
    const value = config[name];
    if (value === undefined || value === null) return [];
    if (members.length === 0) return [[name, value]];
    if (!isFields(value)) return [];
    const known = Object.entries(value).filter(([member, one]) => members.includes(member) && one !== null);
    return [[name, Object.fromEntries(known)]];
  });
  return Object.fromEntries(entries);
}

function unknownSettings(project: Project): string[] {
  return Object.entries((project.config ?? {}) as unknown as Fields)
    .filter(([name, value]) => !Object.hasOwn(SETTINGS, name) && value !== null)
    .map(([name]) => name);
}

function lost(answers: Answers): string[] {
  const { dropped = [], skipped = 0 } = answers;
  return [
    ...dropped.map(
      (name) => `The setting ${name} of the project has no counterpart, or is set per instance.`,
    ),
    ...(skipped === 0 ? [] : [`${skipped} subscriptions of the type cli: posthorn listen makes its own.`]),
    ...answers.endpoints.flatMap(({ name, secrets }) => {
      const signing = (secrets ?? []).filter(({ expires_at }) => expires_at !== null).length;
      return signing === 0 ? [] : [`Old secrets of the endpoint ${name}, which are about to expire.`];
    }),
    ...answers.sources.map(
      ({ name, url }) => `The ingest URL of the source ${name} (${url}): senders need the new one.`,
    ),
    'Signing secrets, unless --secrets names a directory for them.',
  ];
}
