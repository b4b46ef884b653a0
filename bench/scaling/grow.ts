import { firstIdAt, idTime } from '../../src/domain/ids.ts';
import { Sealer } from '../../src/platform/sealer.ts';
import { SECRET_KEY, type Service } from '../service.ts';

/**
 * Adds rows to a project directly in the database, by set-based statements. Through the API a hundred
 * thousand subscriptions would take minutes. Rows are copies of one that the API created, under new ids.
 */
type Column = string;

/** Columns of a copy that differ from the model's, as expressions over `n`. */
type Changes = Record<Column, string>;

const BATCH = 50_000;
const DELIVERIES_PER_EVENT = 10;

/** Endpoints 1 to count - 1 in addition to the first, each with a subscription to the event type with its number. */
export async function addEndpoints(service: Service, first: Pair, count: number): Promise<void> {
  await configChange(service, async (version) => {
    await copies(
      service,
      { table: 'endpoints', id: first.endpointId, from: 1, to: count - 1 },
      {
        id: idOf(first.endpointId, 'E'),
        url: "m.url || '/' || n",
        version,
      },
    );
    await sealAgain(service, first.endpointId, count);
    await copies(
      service,
      { table: 'subscriptions', id: first.subscriptionId, from: 1, to: count - 1 },
      {
        id: idOf(first.subscriptionId, 'S'),
        endpoint_id: idOf(first.endpointId, 'E'),
        ...filtersFor(first.eventType),
        version,
      },
    );
  });
}

/** Subscriptions of the first endpoint to types that no event has. */
export async function addSubscriptions(service: Service, first: Pair, count: number): Promise<void> {
  await configChange(service, (version) =>
    copies(
      service,
      { table: 'subscriptions', id: first.subscriptionId, from: 1, to: count - 1 },
      {
        id: idOf(first.subscriptionId, 'F'),
        ...filtersFor('never'),
        version,
      },
    ),
  );
}

/** Projects in addition to the first, each with an endpoint and a subscription of its own. They get no events. */
export async function addProjects(service: Service, first: Pair, count: number): Promise<void> {
  const range = { from: 1, to: count - 1 };
  const { project_id } = service.credentials;
  const project = { project_id: idOf(project_id, 'P') };
  await copies(
    service,
    { table: 'projects', id: project_id, ...range },
    { id: project.project_id, name: "'project ' || n" },
  );
  const endpoint = idOf(first.endpointId, 'P');
  await copies(
    service,
    { table: 'endpoints', id: first.endpointId, ...range },
    { ...project, id: endpoint, url: "m.url || '/' || n" },
  );
  await copies(
    service,
    { table: 'subscriptions', id: first.subscriptionId, ...range },
    { ...project, id: idOf(first.subscriptionId, 'P'), endpoint_id: endpoint },
  );
  await service.db.query('analyze projects, endpoints, subscriptions');
}

/** A sealed secret is bound to its row, so the same secret is sealed again for each copy. */
async function sealAgain(service: Service, modelId: string, count: number): Promise<void> {
  const sealer = new Sealer([Buffer.from(SECRET_KEY)]);
  const place = (id: string) => `endpoint ${id}`;
  const { rows } = await service.db.query<{ sealed: Buffer }>('select sealed from endpoints where id = $1', [
    modelId,
  ]);
  const secret = sealer.open((rows[0] as { sealed: Buffer }).sealed, place(modelId));
  const ids = Array.from(
    { length: count - 1 },
    (_, n) => `${modelId.slice(0, 10)}E${(n + 1).toString(16).toUpperCase().padStart(15, '0')}`,
  );
  await service.db.query(
    `update endpoints e set sealed = s.sealed from unnest($1::text[], $2::bytea[]) as s(id, sealed) where e.id = s.id`,
    [ids, ids.map((id) => sealer.seal(secret, place(id)))],
  );
}

export interface Pair {
  endpointId: string;
  subscriptionId: string;
  /** Without its digits. */
  eventType: string;
}

/** An id with the model's time and the copy's number. */
const idOf = (id: string, mark: string) => `'${id.slice(0, 10)}${mark}' || upper(lpad(to_hex(n), 15, '0'))`;

function filtersFor(eventType: string): Changes {
  const type = `'${eventType}' || lpad(n::text, 5, '0')`;
  return {
    filters: `jsonb_set(m.filters::jsonb, '{0,event_type}', to_jsonb(${type}))`,
  };
}

/** Under the project's next version, which the service notices by its poll. */
async function configChange(service: Service, change: (version: string) => Promise<void>): Promise<void> {
  const project = service.credentials.project_id;
  const { version } = await service.query<{ version: number }>(
    `select version + 1 as version from projects where id = '${project}'`,
  );
  await change(String(version));
  await service.db.query('analyze endpoints, subscriptions');
  await service.db.query(`update projects set version = ${version} where id = '${project}'`);
}

/** Ended deliveries with an attempt each, and a tenth as many events, from the partition's start until now. */
export async function addStoredRows(service: Service, deliveries: number): Promise<void> {
  const { rows } = await service.db.query<{ event_id: string; id: string; from: string }>(
    `select d.event_id, d.id,
       (regexp_match(pg_get_expr(c.relpartbound, c.oid), $$FROM \\('([^']+)'\\)$$))[1] as from
     from event_deliveries d join pg_class c on c.oid = d.tableoid where d.status = 'Success' and d.attempt_id is not null limit 1`,
  );
  const model = rows[0] as { event_id: string; id: string; from: string };
  const startMs = idTime(model.from);
  const stepMs = (Date.now() - 60_000 - startMs) / deliveries;
  await service.db.query('set synchronous_commit = off');
  for (let made = 0; made < deliveries; made += BATCH) {
    const prefix = firstIdAt(Math.floor(startMs + made * stepMs)).slice(0, 10);
    const delivery = `'${prefix}D' || upper(lpad(to_hex(n), 15, '0'))`;
    const event = (number: string) => `'${prefix}E' || upper(lpad(to_hex(${number}), 15, '0'))`;
    const to = Math.min(BATCH, deliveries - made);
    await copies(
      service,
      { table: 'events', id: model.event_id, from: 1, to: to / DELIVERIES_PER_EVENT },
      {
        id: event('n'),
      },
    );
    await copies(
      service,
      { table: 'event_deliveries', id: model.id, from: 1, to },
      {
        id: delivery,
        event_id: event(`1 + n / ${DELIVERIES_PER_EVENT}`),
      },
    );
  }
  await service.db.query('set synchronous_commit = on');
  await service.db.query('vacuum (analyze) events, event_deliveries, delivery_attempts');
}

interface Copies {
  table: string;
  id: string;
  from: number;
  to: number;
}

async function copies(service: Service, what: Copies, changes: Changes): Promise<void> {
  const { table, id, from, to } = what;
  const project = service.credentials.project_id;
  const { rows } = await service.db.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
  );
  const values = rows.map(({ name, type }) =>
    changes[name] === undefined ? `m.${name}` : `(${changes[name]})::${type}`,
  );
  await service.db.query(
    `insert into ${table} (${rows.map(({ name }) => name).join(', ')})
     select ${values.join(', ')} from generate_series(${from}, ${to}) as n, (select * from ${table} where ${table === 'projects' ? '' : `project_id = '${project}' and `}id = '${id}' limit 1) as m`,
  );
}
