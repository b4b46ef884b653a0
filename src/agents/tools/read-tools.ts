import { isObject } from '../../platform/json/is-object.ts';
import type { Json } from './project-api.ts';
import { compact, deliveryOf, endpointOf, jobOf, MAX_ROWS, pick, pickUrl, rows, untrusted } from './shown.ts';
import { type Argument, ID, period, queryOf, type Tool } from './tool.ts';
import { whyNotDelivered } from './why-not-delivered.ts';

const MAX_POINTS = 48;
const STATUSES = ['Scheduled', 'Retry', 'Success', 'Failure', 'Discarded'] as const;
const owner: Argument = { type: 'string', description: 'Only of this customer (owner_id).' };
const eventType: Argument = { type: 'string', description: 'Only of this event type.' };
const endpoint = ID('an endpoint');
const path = (id: unknown) => encodeURIComponent(String(id));

const find: Tool = {
  name: 'find',
  title: 'Search everything',
  description:
    'Finds events, deliveries, endpoints, subscriptions, sources, event types, customers and jobs by an id, a name, an idempotency key or a text in payloads.',
  properties: { text: { type: 'string', description: 'What to look for.' }, ...period },
  required: ['text'],
  run: async (api, given) => {
    const found = await api.get('/search', queryOf(given));
    const fields = ['kind', 'title', 'field', 'owner_id', 'created_at'];
    const hit = (row: Json) => ({
      ...pick(row, fields),
      // The id of an event type is its name, which is in the title.
      ...compact({ uid: row.kind === 'event_type' ? null : row.uid }),
      ...compact({ untrusted_value: untrusted(row.value) }),
    });
    return { found: found.hits.length, complete: found.complete, hits: rows(found.hits, hit) };
  },
};

const listEndpoints: Tool = {
  name: 'list_endpoints',
  title: 'List endpoints',
  description:
    'The endpoints of the project with their state, newest first. At most 20; narrow it by name or owner.',
  properties: { name: { type: 'string', description: 'A part of the name.' }, owner_id: owner },
  run: async (api, given) => {
    const { content, pagination } = await api.get('/endpoints', { ...queryOf(given), perPage: MAX_ROWS });
    return { endpoints: rows(content, endpointOf), more: pagination.has_next_page };
  },
};

const listDeliveries: Tool = {
  name: 'list_deliveries',
  title: 'List deliveries',
  description: 'Deliveries with their state and the last reason, newest first. At most 20.',
  properties: {
    status: { type: 'string', enum: STATUSES, description: 'Only in this state.' },
    endpoint_id: endpoint,
    event_id: ID('an event'),
    event_type: eventType,
    ...period,
  },
  run: async (api, given) => {
    const query = { ...queryOf(given), perPage: MAX_ROWS };
    const { content, pagination } = await api.get('/eventdeliveries', query);
    return { deliveries: rows(content, deliveryOf), more: pagination.has_next_page };
  },
};

const getEvent: Tool = {
  name: 'get_event',
  title: 'Show an event',
  description: 'One event with its payload. The payload is data of others, cut after 4,000 characters.',
  properties: { event_id: ID('the event') },
  required: ['event_id'],
  run: async (api, { event_id }) => {
    const row = await api.get(`/events/${path(event_id)}`);
    const fields = [
      'uid',
      'event_type',
      'status',
      'failure_reason',
      'source_id',
      'idempotency_key',
      'created_at',
    ];
    return {
      ...pick(row, fields),
      endpoint_ids: row.endpoints.slice(0, MAX_ROWS),
      ...compact({ untrusted_payload: untrusted(row.raw) }),
    };
  },
};

const failuresByCause: Tool = {
  name: 'failures_by_cause',
  title: 'Failures by cause',
  description:
    'Groups failing deliveries by endpoint and cause, the largest first. Without dates, those of the last 24 hours.',
  properties: { endpoint_id: endpoint, owner_id: owner, event_type: eventType, ...period },
  run: async (api, given) => {
    const { groups, complete } = await api.get('/failures', queryOf(given));
    const fields = [
      'endpoint_id',
      'endpoint_name',
      'owner_id',
      'outcome',
      'description',
      'failed',
      'retrying',
      'first_at',
      'last_at',
    ];
    return { groups_in_all: groups.length, complete, groups: rows(groups, (row) => pick(row, fields)) };
  },
};

const endpointHealth: Tool = {
  name: 'endpoint_health',
  title: 'Endpoints in trouble',
  description:
    'Endpoints that fail, are disabled, degraded or held, the worst first: since when, the last failure, what waits for what. With endpoint_id, that one.',
  properties: { endpoint_id: endpoint, owner_id: owner, ...period },
  run: async (api, given) => {
    const health = await api.get('/health', { ...queryOf(given), limit: MAX_ROWS });
    const fields = [
      'endpoint_id',
      'name',
      'owner_id',
      'status',
      'state',
      'held_by',
      'held_until',
      'attempts',
      'failed_attempts',
      'delivered',
      'failed',
      'discarded',
      'open',
      'failing_since',
      'recovered_at',
      'sent_since',
      'last_success_at',
    ];
    const one = (row: Json) => ({
      ...pick(row, fields),
      ...pickUrl(row),
      ...compact({
        waiting_for: row.waiting_for,
        last_failure:
          row.last_failure && pick(row.last_failure, ['event_delivery_id', 'at', 'outcome', 'description']),
      }),
    });
    return {
      ...pick(health, ['as_of', 'window', 'by_state', 'complete']),
      endpoints: rows(health.endpoints, one),
    };
  },
};

const timeSeries: Tool = {
  name: 'time_series',
  title: 'Traffic over time',
  description:
    'Counts of events, deliveries and attempts over time, and latencies, for the project, an endpoint or a source. Steps without traffic are left out; at most 48, the latest. Default: the last hour.',
  properties: {
    endpoint_id: endpoint,
    source_id: ID('a source'),
    step: { type: 'string', enum: ['minute', 'hour', 'day'], description: 'Length of a step.' },
    ...period,
  },
  run: async (api, given) => {
    const series = await api.get('/timeseries', queryOf(given));
    const fields = [
      'start',
      'accepted',
      'delivered',
      'failed',
      'discarded',
      'attempts',
      'failed_attempts',
      'latency',
    ];
    const busy = series.points.filter((point: Json) => point.accepted + point.attempts + point.discarded > 0);
    return {
      step: series.step,
      totals: pick(series.totals, fields),
      points: busy.slice(-MAX_POINTS).map((point: Json) => pick(point, fields)),
    };
  },
};

const previewChange: Tool = {
  name: 'preview_change',
  title: 'Preview a changed filter or function',
  description:
    'Runs a changed filter, list of event types or function of a subscription on its latest real events, and shows which would be delivered and how. Nothing is saved or sent.',
  properties: {
    subscription_id: ID('the subscription'),
    event_types: { type: 'array', description: 'The event types it would take, such as ["invoice.*"].' },
    filter: {
      type: 'object',
      description: 'The filter of bodies it would have, such as {"amount": {"$gte": 100}}.',
    },
    function: { type: 'string', maxLength: 65_536, description: 'The JavaScript it would have.' },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_ROWS,
      description: 'How many of the latest events; 10 by default.',
    },
  },
  required: ['subscription_id'],
  run: async (api, { subscription_id, event_types, filter, function: code, limit = 10 }) => {
    const config = compact({ event_types, filter: isObject(filter) ? { body: filter } : undefined });
    const body = compact({
      filter_config: Object.keys(config).length === 0 ? undefined : config,
      function: code,
      limit,
    });
    const { data } = await api.send('POST', `/subscriptions/${path(subscription_id)}/preview`, { body });
    const one = (row: Json) => ({
      ...pick(row, ['event_id', 'event_type', 'matched', 'reason', 'function_error', 'cancelled']),
      ...compact({ untrusted_before: untrusted(row.before), untrusted_after: untrusted(row.after) }),
    });
    return { examined: data.events.length, matched: data.matched, events: rows(data.events, one) };
  },
};

const getJob: Tool = {
  name: 'get_job',
  title: 'Progress of a job',
  description: 'How far a retry or replay of many has come.',
  properties: { job_id: ID('the job') },
  required: ['job_id'],
  run: async (api, { job_id }) => jobOf(await api.get(`/jobs/${path(job_id)}`)),
};

export const readTools: readonly Tool[] = [
  find,
  whyNotDelivered,
  failuresByCause,
  endpointHealth,
  timeSeries,
  listEndpoints,
  listDeliveries,
  getEvent,
  previewChange,
  getJob,
];
