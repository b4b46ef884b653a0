import { invalidParams } from '../protocol/json-rpc.ts';
import { type Json, type ProjectApi, Refused } from './project-api.ts';
import { attemptOf, deliveryOf, jobOf, pick } from './shown.ts';
import { type Argument, type Arguments, ID, period, queryOf, type Tool } from './tool.ts';

/*
 * The tools that send or change something. A retry or replay is a dry run unless `dry_run` is false, and then `expected`
 * has to be the number that the dry run gave: a model that skipped it, or whose filters select more by now, is refused.
 */
const ENDPOINT = { endpoint_id: ID('the endpoint') };
const path = (id: unknown) => encodeURIComponent(String(id));
const dryRunFirst = {
  dry_run: { type: 'boolean', description: 'True by default: counts what would be sent, and sends nothing.' },
  expected: { type: 'integer', description: 'With dry_run false: the number that the dry run gave.' },
} as const satisfies Record<string, Argument>;

/** Runs `act` if the caller has seen the number. */
async function afterDryRun(
  { dry_run = true, expected }: Arguments,
  counted: { number: number; shown?: object },
  act: () => Promise<object>,
): Promise<object> {
  const { number, shown } = counted;
  const hint = `To do it, call again with dry_run false and expected ${number}.`;
  if (dry_run === true) return { dry_run: true, would_send: number, ...shown, hint };
  if (typeof expected !== 'number') throw invalidParams(`expected is required. ${hint}`);
  if (expected < number)
    throw invalidParams(
      `It would send ${number} by now, which is more than the expected ${expected}. ${hint}`,
    );
  return act();
}

const retry: Tool = {
  name: 'retry_write',
  title: 'Retry deliveries',
  description:
    'Sends failed or discarded deliveries again: one by delivery_id, or all that match the filters, as a job. A dry run by default.',
  properties: {
    delivery_id: ID('one delivery'),
    endpoint_id: ID('an endpoint'),
    event_id: ID('an event'),
    event_type: { type: 'string', description: 'Only of this event type.' },
    ...period,
    ...dryRunFirst,
  },
  writes: { isDestructive: false, isIdempotent: false },
  run: async (api, given) => {
    const { delivery_id, endpoint_id, event_id, event_type } = given;
    if (delivery_id !== undefined) return retryOne(api, given);
    if ([endpoint_id, event_id, event_type, given['since']].every((filter) => filter === undefined))
      throw invalidParams('Give delivery_id, or one of endpoint_id, event_id, event_type and since.');
    const query = queryOf(given);
    const at = '/eventdeliveries/batchretry';
    const dry = await api.send('POST', at, { query: { ...query, dry_run: true } });
    return afterDryRun(given, countOf(dry), async () =>
      started((await api.send('POST', at, { query })).data),
    );
  },
};

async function retryOne(api: ProjectApi, given: Arguments): Promise<object> {
  const at = `/eventdeliveries/${path(given['delivery_id'])}`;
  const row = await api.get(at);
  return afterDryRun(given, { number: 1, shown: { delivery: deliveryOf(row) } }, async () =>
    deliveryOf((await api.send('PUT', `${at}/resend`)).data),
  );
}

const replay: Tool = {
  name: 'replay_write',
  title: 'Replay events',
  description:
    'Matches events again under the current config and delivers them to every match, also those that had succeeded: one by event_id, or all that match the filters, as a job. endpoint_id and owner_id also limit whom they are sent to. A dry run by default.',
  properties: {
    event_id: ID('one event'),
    endpoint_id: ID('an endpoint that got them, and gets them again alone'),
    owner_id: { type: 'string', description: 'A customer that got them, and gets them again alone.' },
    source_id: ID('a source'),
    unmatched: { type: 'boolean', description: 'Only events that no subscription matched.' },
    ...period,
    ...dryRunFirst,
  },
  writes: { isDestructive: false, isIdempotent: false },
  run: async (api, given) => {
    if (given['event_id'] !== undefined) return replayOne(api, given);
    const { endpoint_id, owner_id, source_id, unmatched } = given;
    if ([endpoint_id, owner_id, source_id, unmatched, given['since']].every((filter) => filter === undefined))
      throw invalidParams('Give event_id, or one of endpoint_id, owner_id, source_id, unmatched and since.');
    const query = { ...queryOf(given), ...sentTo(given) };
    const at = '/events/batchreplay';
    const dry = await api.send('POST', at, { query: { ...query, dry_run: true } });
    return afterDryRun(given, countOf(dry), async () => started((await api.send('POST', at, { query })).job));
  },
};

const sentTo = ({ endpoint_id, owner_id }: Arguments) => ({ to_endpoint: endpoint_id, to_owner: owner_id });

async function replayOne(api: ProjectApi, given: Arguments): Promise<object> {
  const at = `/events/${path(given['event_id'])}`;
  const number = await replayCount(api, at, given);
  return afterDryRun(given, { number }, async () => {
    const { data } = await api.send('PUT', `${at}/replay`, { query: sentTo(given) });
    return { replayed: true, ...pick(data, ['uid', 'event_type', 'status']) };
  });
}

/** A portal link may not ask how others match. Its replay reaches no endpoint but its owner's. */
async function replayCount(api: ProjectApi, at: string, given: Arguments): Promise<number> {
  try {
    return (await api.get(`${at}/explain`, sentTo(given))).replay_deliveries;
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 403) throw error;
    const { endpoint_id: only } = given;
    return (await api.get(at)).endpoints.filter((id: string) => (only ?? id) === id).length;
  }
}

/** The job is next to `data` where older clients want that empty. */
function countOf({ data, job }: Json): { number: number; shown: object } {
  const { dry_run: dry } = job ?? data;
  return { number: dry.total, shown: pick(dry, ['deliveries', 'endpoints', 'is_estimate', 'oldest_at']) };
}

const started = (job: Json) => ({ job: jobOf(job), hint: 'get_job shows its progress.' });

/** Calls the API only if the state differs: its call for a pause toggles. */
const becomes =
  (state: 'paused' | 'active', method: 'PUT' | 'POST', action: string): Tool['run'] =>
  async (api, { endpoint_id }) => {
    const at = `/endpoints/${path(endpoint_id)}`;
    const row = await api.get(at);
    if (row.status === state) return { changed: false, ...pick(row, ['uid', 'status']) };
    const { data } = await api.send(method, `${at}/${action}`);
    return { changed: true, ...pick(data, ['uid', 'status']) };
  };

const pause: Tool = {
  name: 'pause_endpoint_write',
  title: 'Pause an endpoint',
  description: 'Holds the deliveries of an endpoint. Nothing is lost: they wait until it is resumed.',
  properties: ENDPOINT,
  required: ['endpoint_id'],
  writes: { isDestructive: false, isIdempotent: true },
  run: becomes('paused', 'PUT', 'pause'),
};

const resume: Tool = {
  name: 'resume_endpoint_write',
  title: 'Resume an endpoint',
  description: 'Makes a paused or inactive endpoint active. Deliveries that waited are sent.',
  properties: ENDPOINT,
  required: ['endpoint_id'],
  writes: { isDestructive: false, isIdempotent: true },
  run: becomes('active', 'POST', 'activate'),
};

const DAY_SECONDS = 86_400;

const rollSecret: Tool = {
  name: 'roll_secret_write',
  title: 'Roll a signing secret',
  description:
    'Gives an endpoint a new signing secret. The old one signs along for keep_old_seconds, a day by default. The secret is not shown here: its owner reads it in the dashboard or the portal.',
  properties: {
    ...ENDPOINT,
    keep_old_seconds: {
      type: 'integer',
      maximum: 30 * DAY_SECONDS,
      description: 'How long the old secret signs along; 0 ends it at once.',
    },
  },
  required: ['endpoint_id'],
  writes: { isDestructive: true, isIdempotent: false },
  run: async (api, { endpoint_id, keep_old_seconds = DAY_SECONDS }) => {
    const body = { expiration: keep_old_seconds };
    const { data } = await api.send('PUT', `/endpoints/${path(endpoint_id)}/expire_secret`, { body });
    return { rolled: true, uid: data.uid, old_secret_signs_for_seconds: keep_old_seconds };
  },
};

const testEndpoint: Tool = {
  name: 'test_endpoint_write',
  title: 'Test an endpoint',
  description: 'Sends a sample event to an endpoint and shows the attempt with the answer of the receiver.',
  properties: ENDPOINT,
  required: ['endpoint_id'],
  writes: { isDestructive: false, isIdempotent: false },
  run: async (api, { endpoint_id }) =>
    attemptOf((await api.send('POST', `/endpoints/${path(endpoint_id)}/test`)).data),
};

export const writeTools: readonly Tool[] = [retry, replay, pause, resume, rollSecret, testEndpoint];
