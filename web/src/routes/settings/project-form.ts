import type { PartialProjectConfig, Posthorn, Project, UpdateProjectBody } from 'posthorn-client';
import type { Edited } from '../../data/edit/save-change.ts';
import { nested } from '../../data/field-paths.ts';
import { type Form, fieldValues } from '../../parts/resource-field.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { variablesOf } from './variable-fields.tsx';

interface Part {
  title: string;
  form: Form;
  /** Fields that few turn, folded away. */
  rare?: { title: string; form: Form };
}

const breaker = (name: string, label: string, hint: string) => ({
  [`circuit_breaker.${name}`]: { label, hint, kind: 'number', min: 1, required: true, isShort: true },
});

/** The config of a project, in the order of the page. */
export const SETTINGS: readonly Part[] = [
  {
    title: 'Retries',
    form: {
      'strategy.type': {
        label: 'Backoff',
        kind: 'choice',
        choices: [
          ['linear', 'Linear: the same wait each time'],
          ['exponential', 'Doubles'],
        ],
        isShort: true,
      },
      'strategy.duration': {
        label: 'First wait (s)',
        kind: 'number',
        min: 1,
        required: true,
        isShort: true,
      },
      'strategy.retry_count': { label: 'Attempts', kind: 'number', min: 1, required: true, isShort: true },
      'strategy.schedule': {
        label: 'Waits as a list',
        kind: 'list',
        hint: 'Such as 5s, 5m, 2h. A list replaces the three fields above.',
      },
      final_status_codes: {
        label: 'Final status codes',
        kind: 'numbers',
        hint: 'Answers after which a delivery is not retried. After 410 the endpoint becomes inactive too.',
      },
      disable_endpoint: { label: 'Disable an endpoint that keeps failing', kind: 'flag' },
      disable_after: {
        label: 'Disable an endpoint without a success for',
        kind: 'text',
        hint: 'A duration such as 120h. Empty for never. An alert comes first.',
      },
    },
  },
  {
    title: 'Limits',
    form: {
      'ratelimit.count': { label: 'Events accepted', kind: 'number', hint: '0 for no limit.', isShort: true },
      'ratelimit.duration': { label: 'Interval (s)', kind: 'number', isShort: true },
      max_payload_read_size: { label: 'Largest payload (bytes)', kind: 'number', isShort: true },
      http_timeout: { label: 'Timeout (s)', kind: 'number', min: 1, required: true, isShort: true },
    },
  },
  {
    title: 'Circuit breaker',
    form: {
      ...breaker('failure_threshold', 'Opens at failures, %', 'Of the attempts of the endpoint.'),
      ...breaker('minimum_request_count', 'from attempts', 'With fewer it does not open.'),
      ...breaker('error_timeout', 'Probe after, seconds', 'Deliveries wait until then.'),
    },
    rare: {
      title: 'Window, probes and disabling',
      form: {
        ...breaker('observability_window', 'within minutes', 'Older attempts do not count.'),
        ...breaker('sample_rate', 'Looked at every, seconds', 'While an endpoint fails.'),
        ...breaker('success_threshold', 'Closes at probes, %', 'Of the attempts above. They must succeed.'),
        ...breaker(
          'consecutive_failure_threshold',
          'Disable after openings',
          'In a row, if endpoints are disabled.',
        ),
      },
    },
  },
  {
    title: 'Events and headers',
    form: {
      multiple_endpoint_subscriptions: {
        label: 'An endpoint may have several subscriptions',
        kind: 'flag',
      },
      allow_unmatched_dynamic_urls: { label: 'A dynamic event to a new URL makes an endpoint', kind: 'flag' },
      verify_dynamic_events: { label: 'Refuse a dynamic event to a forbidden URL', kind: 'flag' },
      add_event_id_trace_headers: {
        label: 'Send the ids of event and delivery as X-Convoy headers',
        kind: 'flag',
      },
      request_id_header: {
        label: 'Header of the idempotency key',
        kind: 'text',
        required: true,
        isShort: true,
      },
      visible_headers: {
        label: 'Headers that are no secrets',
        kind: 'list',
        hint: 'Their names look like credentials. Separated by commas.',
        isShort: true,
      },
      envelope: {
        label: 'JSON bodies of deliveries',
        kind: 'choice',
        choices: [
          ['none', 'The payload alone'],
          ['standard', 'type, timestamp and data'],
        ],
        isShort: true,
      },
      schema_check: {
        label: 'Events that do not fit their schema',
        kind: 'choice',
        choices: [
          ['off', 'Are not checked'],
          ['warn', 'Are accepted, with a warning'],
          ['refuse', 'Are refused'],
        ],
        hint: 'Event types have the schemas.',
        isShort: true,
      },
      user_agent: {
        label: 'User agent of deliveries',
        kind: 'text',
        hint: 'Empty: Posthorn and its version.',
        isShort: true,
      },
      webhook_origin: {
        label: 'Origin of the handshake',
        kind: 'text',
        hint: 'New endpoints are asked with OPTIONS whether it may send. Empty: they are not.',
        isShort: true,
      },
      search_policy: {
        label: 'A search reaches back',
        kind: 'text',
        hint: 'A duration such as 720h. Empty: everything.',
        isShort: true,
      },
    },
  },
  {
    title: 'Retention',
    form: {
      'retention_policy.policy': {
        label: 'Retention of events',
        kind: 'text',
        hint: 'A duration such as 720h. Defaults to the retention of the instance.',
      },
    },
  },
  {
    title: 'Signing',
    form: {
      'signature.header': { label: 'Convoy signature header', kind: 'text', required: true },
      'signature.schemes': {
        label: '',
        kind: 'flags',
        choices: [
          ['standard', 'Deliveries carry a Standard Webhooks signature'],
          ['convoy', 'Deliveries carry a Convoy signature'],
        ],
      },
      replay_attacks_prevention_enabled: { label: 'Sign with a timestamp for every endpoint', kind: 'flag' },
      'ssl.enforce_secure_endpoints': { label: 'Endpoints must use https', kind: 'flag' },
    },
  },
  {
    title: 'People',
    form: {
      require_second_factor: { label: 'People need a second factor', kind: 'flag' },
      hide_payload_from_viewers: { label: 'Viewers see no payloads', kind: 'flag' },
    },
  },
  {
    title: 'Meta events',
    form: {
      'meta_event.is_enabled': { label: 'Send meta events', kind: 'flag' },
      'meta_event.url': { label: 'URL', kind: 'text', type: 'url' },
      'meta_event.secret': {
        label: 'Secret',
        kind: 'secret',
        hint: 'Signs meta events. Empty: it stays, or is made.',
      },
      'meta_event.event_type': {
        label: 'Types',
        kind: 'list',
        hint: 'Separated by commas, such as endpoint.updated.',
      },
    },
  },
];

const ALL: Form = Object.assign({}, ...SETTINGS.map(({ form, rare }) => ({ ...form, ...rare?.form })));

/** The fields of the form by their names in it. Meta events without an address, and an empty secret, are left as they are. */
export function settingsIn(form: FormData): object {
  const values = Object.entries(fieldValues(ALL, form));
  const hasMeta = form.has('meta_event.is_enabled') || formText(form, 'meta_event.url') !== '';
  const isMeant = ([name, value]: [string, unknown]) =>
    !name.startsWith('meta_event.') || (hasMeta && (name !== 'meta_event.secret' || value !== ''));
  return {
    name: formText(form, 'name'),
    variables: variablesOf(form),
    ...Object.fromEntries(values.filter(isMeant)),
  };
}

type Api = Pick<Posthorn, 'configVersion' | 'projects'>;

/** The project with its config, whose fields have the names of the form. */
export const editedProject = (api: Api, stored: Project): Edited<Project, object> => ({
  stored,
  version: () => api.configVersion(),
  read: () => api.projects.get(stored.uid),
  write: ({ name, variables, ...config }: UpdateProjectBody & object, options) => {
    const { meta_event: meta, ...rest } = nested({ ...config } as Record<
      string,
      unknown
    >) as PartialProjectConfig;
    const change = { ...rest, ...(meta && { meta_event: { ...meta, type: 'http' as const } }) };
    return api.projects.update(
      stored.uid,
      {
        ...(name && { name }),
        ...(variables && { variables }),
        ...(Object.keys(change).length > 0 && { config: change }),
      },
      options,
    );
  },
  fieldsOf: (of) => ('config' in of ? { ...of.config, name: of.name, variables: of.variables } : of),
});
