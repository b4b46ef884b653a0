import type {
  Endpoint,
  EventType,
  Posthorn,
  Source,
  Subscription,
  TestAttempt,
} from '../../../client/src/posthorn.ts';
import { EXIT } from '../../platform/startup-error.ts';
import type { Given, Run } from '../terminal/command.ts';
import { readObject, readSecret } from '../terminal/input.ts';
import { type Column, isTable, line, note, printList, printOne } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import { withService } from './connect.ts';
import { stateColumns } from './endpoint-state.ts';
import { optional } from './trigger.ts';

/** The first of a list, 20 or --limit. */
async function take<T>(given: Given, list: AsyncIterable<T>): Promise<T[]> {
  const limit = given.count('limit') ?? 20;
  const taken: T[] = [];
  for await (const item of list) {
    if (taken.length === limit) {
      note(`posthorn: there are more than these ${limit}; --limit N shows N of them`);
      break;
    }
    taken.push(item);
    // Whether there are more is for people. It may cost a call.
    if (taken.length === limit && !terminal().stdout.isTTY) break;
  }
  return taken;
}

type Work<T> = (posthorn: Posthorn, given: Given) => Promise<T> | AsyncIterable<T>;

/** A command that prints one thing. */
export const one =
  (work: (posthorn: Posthorn, given: Given) => Promise<object>): Run =>
  (given) =>
    withService(given, async (posthorn) => printOne(given, await work(posthorn, given)));

/** A command that prints a list, of --limit rows at most. */
export const many =
  <T extends object>(columns: readonly Column<T>[], work: Work<T>): Run =>
  (given) =>
    withService(given, async (posthorn) => {
      const found = await work(posthorn, given);
      await printList(given, await take(given, found as AsyncIterable<T>), columns);
    });

export const ended =
  (word: string) =>
  (work: (posthorn: Posthorn, id: string) => Promise<null>): Run =>
  (given) =>
    withService(given, async (posthorn) => {
      await work(posthorn, given.operand());
      line(`${word}: ${given.operand()}`);
    });

/** The operations that every kind of resource has. */
interface Ordinary {
  get(id: string): Promise<object>;
  create(body: never): Promise<object>;
  update(id: string, body: never): Promise<object>;
  delete(id: string): Promise<null>;
}

/** `body`: the fields that the user gave. */
const ordinary = (
  of: (posthorn: Posthorn) => Ordinary,
  body: (given: Given) => Promise<object>,
): Record<keyof Ordinary, Run> => ({
  get: one((posthorn, given) => of(posthorn).get(given.operand())),
  create: one(async (posthorn, given) => of(posthorn).create((await body(given)) as never)),
  update: one(async (posthorn, given) => of(posthorn).update(given.operand(), (await body(given)) as never)),
  delete: ended('deleted')((posthorn, id) => of(posthorn).delete(id)),
});

/** An operator sees trouble here: the state, and how many deliveries wait. */
const endpointColumns = (waiting: ReadonlyMap<string, number>): readonly Column<Endpoint>[] => [
  ['UID', ({ uid }) => uid],
  ['NAME', ({ name }) => name],
  ...stateColumns,
  ['WAITING', ({ uid }) => waiting.get(uid) ?? 0],
  ['URL', ({ url }) => url],
  ['OWNER', ({ owner_id }) => owner_id],
];

const listEndpoints: Run = (given) =>
  withService(given, async (posthorn) => {
    const found = await take(given, posthorn.endpoints.list(given.fields({ q: 'query', ownerId: 'owner' })));
    const isCounted = found.length > 0 && isTable(given) && !given.has('quiet');
    const ids = isCounted ? found.map(({ uid }) => uid) : [];
    const waiting = await waitingByEndpoint(posthorn, ids);
    await printList(given, found, endpointColumns(waiting));
  });

/** Ids in one URL: 1,000 of them would be longer than servers accept. */
const IDS_AT_A_TIME = 200;

async function waitingByEndpoint(posthorn: Posthorn, ids: readonly string[]): Promise<Map<string, number>> {
  const waiting = new Map<string, number>();
  for (let at = 0; at < ids.length; at += IDS_AT_A_TIME) {
    const endpointId = ids.slice(at, at + IDS_AT_A_TIME);
    const { endpoints: found } = await posthorn.dashboard.getHealth({ endpointId, limit: IDS_AT_A_TIME });
    for (const { endpoint_id, open } of found) waiting.set(endpoint_id, open);
  }
  return waiting;
}

export const endpoints: Record<string, Run> = {
  list: listEndpoints,
  ...ordinary(({ endpoints: all }) => all, endpointBody),
  pause: one(async (posthorn, given) => {
    const endpoint = await posthorn.endpoints.get(given.operand());
    // The operation of the API toggles; this command pauses, however often it is run.
    return endpoint.status === 'paused' ? endpoint : posthorn.endpoints.pause(given.operand());
  }),
  activate: one(async (posthorn, given) => {
    const endpoint = await posthorn.endpoints.get(given.operand());
    return endpoint.status === 'active' ? endpoint : posthorn.endpoints.activate(given.operand());
  }),
  roll: one(async (posthorn, given) => {
    const from = given.text('secret');
    const secret = from === undefined ? undefined : await readSecret(from, given.env);
    const seconds = given.count('expire-after');
    return posthorn.endpoints.expireSecret(given.operand(), {
      ...optional('secret', secret),
      ...optional('expiration', seconds),
    });
  }),
  /** A script sees by the exit code whether the endpoint took it. */
  test: (given) =>
    withService(given, async (posthorn) => {
      const attempt = await posthorn.endpoints.test(given.operand());
      await printOne(given, attempt, attemptText(attempt));
      return attempt.status ? EXIT.done : EXIT.failed;
    }),
};

const SHOWN_CHARS = 200;

function attemptText(attempt: TestAttempt): string[] {
  const { status, http_status, error, outcome, timings, url, response_data, cb_state: breaker } = attempt;
  const { totalMs } = timings;
  const took = typeof totalMs === 'number' ? ` in ${Math.round(totalMs)} ms` : '';
  const answer = response_data.slice(0, SHOWN_CHARS);
  return [
    `${status ? 'delivered' : 'failed'}: ${http_status || `${error} (${outcome})`}${took}, ${url}`,
    ...(answer === '' ? [] : [`answer: ${answer}`]),
    ...(breaker === 'closed' ? [] : [`The test went through the circuit breaker. It stays ${breaker}.`]),
  ];
}

async function endpointBody(given: Given): Promise<Record<string, unknown>> {
  const secret = given.text('secret');
  return {
    ...(await readObject(given)),
    ...given.fields({ name: 'name', url: 'to', owner_id: 'owner' }),
    ...optional('secret', secret === undefined ? undefined : await readSecret(secret, given.env)),
  };
}

const subscriptionColumns: readonly Column<Subscription>[] = [
  ['UID', ({ uid }) => uid],
  ['NAME', ({ name }) => name],
  ['STATUS', ({ status }) => status],
  ['ENDPOINT', ({ endpoint_metadata }) => endpoint_metadata?.uid],
  ['EVENT TYPES', ({ filter_config }) => filter_config.event_types.join(', ')],
];

export const subscriptions: Record<string, Run> = {
  list: many(subscriptionColumns, (posthorn, given) =>
    posthorn.subscriptions.list(given.lists({ endpointId: 'endpoint' })),
  ),
  ...ordinary(({ subscriptions: all }) => all, subscriptionBody),
  activate: one((posthorn, given) => setStatus(posthorn, given.operand(), 'active')),
  deactivate: one((posthorn, given) => setStatus(posthorn, given.operand(), 'inactive')),
};

async function setStatus(
  posthorn: Posthorn,
  id: string,
  status: Subscription['status'],
): Promise<Subscription> {
  const subscription = await posthorn.subscriptions.get(id);
  return subscription.status === status ? subscription : posthorn.subscriptions.toggleStatus(id);
}

async function subscriptionBody(given: Given): Promise<Record<string, unknown>> {
  const types = given.texts('event-type');
  return {
    ...(await readObject(given)),
    ...given.fields({ name: 'name', endpoint_id: 'endpoint', source_id: 'source' }),
    ...(types.length > 0 && { filter_config: { event_types: types } }),
  };
}

const sourceColumns: readonly Column<Source>[] = [
  ['UID', ({ uid }) => uid],
  ['NAME', ({ name }) => name],
  ['TYPE', ({ type }) => type],
  ['PROVIDER', ({ provider }) => provider],
  ['STATE', ({ status, is_disabled }) => status?.state ?? (is_disabled ? 'disabled' : 'active')],
  ['URL', ({ url }) => url],
];

export const sources: Record<string, Run> = {
  list: many(sourceColumns, (posthorn) => posthorn.sources.list()),
  ...ordinary(({ sources: all }) => all, sourceBody),
  pause: one((posthorn, given) => posthorn.sources.update(given.operand(), { is_disabled: true })),
  activate: one((posthorn, given) => posthorn.sources.update(given.operand(), { is_disabled: false })),
  test: one((posthorn, given) => posthorn.sources.testConnection(given.operand())),
};

async function sourceBody(given: Given): Promise<Record<string, unknown>> {
  const flags = { name: 'name', type: 'type', provider: 'provider' };
  return { ...(await readObject(given)), ...given.fields(flags) };
}

const eventTypeColumns: readonly Column<EventType>[] = [
  ['NAME', ({ name }) => name],
  ['CATEGORY', ({ category }) => category],
  ['SCHEMA', ({ json_schema }) => (json_schema === null ? 'no' : 'yes')],
  ['DEPRECATED', ({ deprecated_at }) => (deprecated_at === null ? '' : deprecated_at)],
  ['DESCRIPTION', ({ description }) => description],
];

export const listEventTypes: Run = (given) =>
  withService(given, async (posthorn) =>
    printList(given, await posthorn.eventTypes.list(), eventTypeColumns),
  );
