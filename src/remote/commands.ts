import { type Command, type Commands, connectionFlags, type Flag, outputFlags, type Run } from './command.ts';

/*
 * The commands that call a service or work offline. They read nothing of the server: `load` reads only what the command
 * needs, and layers.json holds the folder to that.
 */
type Declared = Omit<Command, 'load'> & { load(): Promise<Run> };

/** A command of a service: it connects, and prints in the form that the user chose. */
const remote = (command: Declared): Command => ({
  ...command,
  flags: { ...command.flags, ...outputFlags, ...connectionFlags },
});

const ID = { name: 'ID', summary: 'The id.' };
const IDS = { name: 'ID', summary: 'The ids. Without them, filters choose.', optional: true, many: true };

const data: Flag = { value: 'JSON', summary: 'The fields as JSON: the text itself, @FILE, or - for stdin.' };
const limit: Flag = { value: 'N', summary: 'How many to list; 20 by default.' };
const secret: Flag = { value: 'env:NAME|file:PATH', summary: 'Where to read the secret.' };

const timeFlags: Record<string, Flag> = {
  since: { value: 'TIME', summary: 'From this time on: a duration back from now such as 10m, or RFC 3339.' },
  until: { value: 'TIME', summary: 'Up to this time.' },
};
const ownerFlag: Record<string, Flag> = {
  owner: { value: 'OWNER', summary: 'Only for endpoints of this owner.' },
};
const queryFlag: Record<string, Flag> = { query: { value: 'TEXT', summary: 'Only those with this text.' } };
const endpointsFlag: Record<string, Flag> = {
  endpoint: { value: 'ID', summary: 'Only for this endpoint.', many: true },
};

/** The filters of events that a job can have. */
const jobFilters: Record<string, Flag> = {
  ...timeFlags,
  ...endpointsFlag,
  source: { value: 'ID', summary: 'Only of this source.', many: true },
  ...ownerFlag,
  'idempotency-key': { value: 'KEY', summary: 'Only with this idempotency key.' },
};

const eventFilters: Record<string, Flag> = {
  ...jobFilters,
  ...queryFlag,
  body: { value: 'JSON', summary: 'Only events whose payload contains this object.' },
};

const deliveryFilters: Record<string, Flag> = {
  ...timeFlags,
  ...endpointsFlag,
  status: {
    value: 'STATUS',
    oneOf: ['Scheduled', 'Processing', 'Discarded', 'Failure', 'Success', 'Retry'],
    summary: 'Only in this state.',
    many: true,
  },
  'event-type': { value: 'TYPE', summary: 'Only of this event type.' },
  event: { value: 'ID', summary: 'Only of this event.' },
  subscription: { value: 'ID', summary: 'Only of this subscription.' },
  ...ownerFlag,
  outcome: {
    value: 'OUTCOME',
    summary: 'Only with this last result, such as http_503 or timeout.',
    many: true,
  },
  'waiting-for': {
    value: 'GATE',
    oneOf: ['paused', 'circuit_breaker', 'rate_limit', 'retry', 'sending', 'node'],
    summary: 'Only those that wait for this.',
    many: true,
  },
  ...queryFlag,
};

const bulkFlags: Record<string, Flag> = {
  all: { summary: 'Everything, without a filter.' },
  'dry-run': { summary: 'Show what would be done, and do nothing.' },
  rate: { value: 'N', summary: 'At most so many a second.' },
};

const setup: Commands = {
  login: {
    group: 'Setup',
    summary: 'Checks a key and saves it as a profile.',
    details:
      'The key is asked for, read from a pipe, or taken from POSTHORN_API_KEY. The file is readable by you alone.',
    flags: connectionFlags,
    examples: [
      'posthorn login --url https://posthorn.example.com',
      'posthorn login --profile staging < key.txt',
    ],
    load: async () => (await import('./login.ts')).login,
  },
  logout: {
    group: 'Setup',
    summary: 'Removes a profile.',
    flags: { profile: { value: 'NAME', summary: 'The profile; the current one by default.' } },
    examples: ['posthorn logout --profile staging'],
    load: async () => (await import('./login.ts')).logout,
  },
};

const events: Commands = {
  trigger: remote({
    group: 'Events',
    summary: 'Sends an event.',
    details: 'Without --data the payload is made from the JSON Schema of the event type.',
    operands: [{ name: 'TYPE', summary: 'The event type.' }],
    flags: {
      data: { value: 'JSON', summary: 'The payload: JSON, @FILE, or - for stdin.' },
      endpoint: { value: 'ID', summary: 'To this endpoint only.' },
      owner: { value: 'OWNER', summary: 'To the endpoints of this owner only.' },
      source: { value: 'ID', summary: 'As an event of this source.' },
      'idempotency-key': { value: 'KEY', summary: 'A second event with the same key is not sent.' },
      header: { value: 'NAME:VALUE', summary: 'A header to send with the event.', many: true },
    },
    examples: [
      `posthorn trigger invoice.paid --data '{"invoice": 7}'`,
      'posthorn trigger invoice.paid --data @invoice.json',
    ],
    load: async () => (await import('./trigger.ts')).trigger,
  }),
  tail: {
    group: 'Events',
    summary: 'Shows events and deliveries as they happen.',
    flags: {
      'event-type': { value: 'GLOB', summary: 'Only these event types, such as invoice.*.', many: true },
      endpoint: { value: 'ID', summary: 'Only of this endpoint.', many: true },
      status: { value: 'STATUS', summary: 'Only in this state.', many: true },
      only: { value: 'KIND', oneOf: ['events', 'deliveries'], summary: 'Only events, or only deliveries.' },
      count: { value: 'N', summary: 'End after so many rows.' },
      json: { summary: 'Print each row as one line of JSON.' },
      ...connectionFlags,
    },
    examples: [
      'posthorn tail --only deliveries --status Failure',
      'posthorn tail --json | jq .data.event_type',
    ],
    load: async () => (await import('./tail.ts')).tail,
  },
  'events list': remote({
    group: 'Events',
    summary: 'Lists events, newest first.',
    flags: { ...eventFilters, limit },
    examples: [
      'posthorn events list --since 1h',
      `posthorn events list --body '{"invoice": 7}' --output json`,
    ],
    load: async () => (await import('./history.ts')).listEvents,
  }),
  'events get': remote({
    group: 'Events',
    summary: 'Shows an event with its payload.',
    operands: [ID],
    examples: ['posthorn events get 01KA2 --output json'],
    load: async () => (await import('./history.ts')).getEvent,
  }),
  'events explain': remote({
    group: 'Events',
    summary: 'Shows for each subscription why it matches an event or not.',
    operands: [ID],
    examples: ['posthorn events explain 01KA2'],
    load: async () => (await import('./history.ts')).explainEvent,
  }),
  'deliveries list': remote({
    group: 'Events',
    summary: 'Lists deliveries, newest first.',
    flags: { ...deliveryFilters, limit },
    examples: ['posthorn deliveries list --status Failure --since 1d'],
    load: async () => (await import('./history.ts')).listDeliveries,
  }),
  'deliveries get': remote({
    group: 'Events',
    summary: 'Shows a delivery.',
    operands: [ID],
    examples: ['posthorn deliveries get 01KA3'],
    load: async () => (await import('./history.ts')).getDelivery,
  }),
  'deliveries attempts': remote({
    group: 'Events',
    summary: 'Lists the attempts of a delivery, oldest first.',
    operands: [ID],
    examples: ['posthorn deliveries attempts 01KA3'],
    load: async () => (await import('./history.ts')).listAttempts,
  }),
  replay: remote({
    group: 'Events',
    summary: 'Matches events again and delivers them.',
    operands: [IDS],
    flags: {
      ...bulkFlags,
      'only-endpoint': { summary: 'Send only to the endpoints of the filter.' },
      ...jobFilters,
    },
    examples: [
      'posthorn replay 01KA2',
      'posthorn replay --since 1h --endpoint 01KA1 --only-endpoint --dry-run',
    ],
    load: async () => (await import('./bulk.ts')).replay,
  }),
  retry: remote({
    group: 'Events',
    summary: 'Sends failed or discarded deliveries again.',
    operands: [IDS],
    flags: { ...bulkFlags, ...deliveryFilters },
    examples: ['posthorn retry 01KA3', 'posthorn retry --endpoint 01KA1 --outcome http_5xx --rate 50'],
    load: async () => (await import('./bulk.ts')).retry,
  }),
  cancel: remote({
    group: 'Events',
    summary: 'Discards open deliveries.',
    flags: { ...bulkFlags, ...deliveryFilters },
    examples: ['posthorn cancel --endpoint 01KA1 --dry-run'],
    load: async () => (await import('./bulk.ts')).cancel,
  }),
};

type Verb = Pick<Command, 'summary' | 'flags' | 'examples' | 'operands'>;

/** The commands of one kind of resource. `load` finds the verbs by name. */
function resource(
  noun: string,
  verbs: Record<string, Verb>,
  load: () => Promise<Readonly<Record<string, Run>>>,
): Commands {
  return Object.fromEntries(
    Object.entries(verbs).map(([verb, declared]) => {
      const loadVerb = async (): Promise<Run> => {
        const run = (await load())[verb];
        if (run === undefined) throw new Error(`${noun} has no ${verb}`);
        return run;
      };
      return [`${noun} ${verb}`, remote({ group: 'Config', ...declared, load: loadVerb })];
    }),
  );
}

const endpointFields: Record<string, Flag> = {
  name: { value: 'NAME', summary: 'The name.' },
  to: { value: 'URL', summary: 'The address that deliveries go to.' },
  owner: { value: 'OWNER', summary: 'The customer it belongs to.' },
  secret,
  data,
};
const subscriptionFields: Record<string, Flag> = {
  name: { value: 'NAME', summary: 'The name.' },
  endpoint: { value: 'ID', summary: 'The endpoint.' },
  source: { value: 'ID', summary: 'Only events of this source.' },
  'event-type': { value: 'GLOB', summary: 'An event type, or a beginning such as invoice.*.', many: true },
  data,
};
const sourceFields: Record<string, Flag> = {
  name: { value: 'NAME', summary: 'The name.' },
  type: { value: 'TYPE', oneOf: ['http', 'rest_api', 'pub_sub', 'db_change_stream'], summary: 'The type.' },
  provider: { value: 'NAME', summary: 'A known sender, such as github.' },
  data,
};

const config: Commands = {
  ...resource(
    'endpoints',
    {
      list: {
        summary: 'Lists endpoints.',
        flags: { ...queryFlag, ...ownerFlag, limit },
        examples: ['posthorn endpoints'],
      },
      get: {
        summary: 'Shows an endpoint.',
        operands: [ID],
        examples: ['posthorn endpoints get 01KA1 --output yaml'],
      },
      create: {
        summary: 'Creates an endpoint. Without --secret one is generated.',
        flags: endpointFields,
        examples: [
          'posthorn endpoints create --name billing --to https://example.com/hooks --secret env:SECRET',
        ],
      },
      update: {
        summary: 'Changes an endpoint. Fields that are not named keep their value.',
        operands: [ID],
        flags: endpointFields,
        examples: [`posthorn endpoints update 01KA1 --data '{"rate_limit": 10, "rate_limit_duration": 1}'`],
      },
      delete: {
        summary: 'Deletes an endpoint and its subscriptions.',
        operands: [ID],
        examples: ['posthorn endpoints delete 01KA1'],
      },
      pause: {
        summary: 'Pauses an endpoint. Its deliveries wait.',
        operands: [ID],
        examples: ['posthorn endpoints pause 01KA1'],
      },
      activate: {
        summary: 'Activates a paused or inactive endpoint.',
        operands: [ID],
        examples: ['posthorn endpoints activate 01KA1'],
      },
      roll: {
        summary: 'Rolls the signing secret. The old secret keeps signing until it expires.',
        operands: [ID],
        flags: {
          secret,
          'expire-after': {
            value: 'SECONDS',
            summary: 'How long the old secret keeps signing; not at all by default.',
          },
        },
        examples: ['posthorn endpoints roll 01KA1 --expire-after 86400'],
      },
      test: {
        summary: 'Sends a sample event and shows the attempt.',
        operands: [ID],
        examples: ['posthorn endpoints test 01KA1'],
      },
    },
    async () => (await import('./resources.ts')).endpoints,
  ),
  ...resource(
    'subscriptions',
    {
      list: {
        summary: 'Lists subscriptions.',
        flags: { ...endpointsFlag, limit },
        examples: ['posthorn subscriptions'],
      },
      get: {
        summary: 'Shows a subscription.',
        operands: [ID],
        examples: ['posthorn subscriptions get 01KA4'],
      },
      create: {
        summary: 'Subscribes an endpoint to event types.',
        flags: subscriptionFields,
        examples: [`posthorn subscriptions create --name invoices --endpoint 01KA1 --event-type 'invoice.*'`],
      },
      update: {
        summary: 'Changes a subscription. Fields that are not named keep their value.',
        operands: [ID],
        flags: subscriptionFields,
        examples: [`posthorn subscriptions update 01KA4 --event-type 'order.*'`],
      },
      delete: {
        summary: 'Deletes a subscription.',
        operands: [ID],
        examples: ['posthorn subscriptions delete 01KA4'],
      },
      activate: {
        summary: 'Makes a subscription active.',
        operands: [ID],
        examples: ['posthorn subscriptions activate 01KA4'],
      },
      deactivate: {
        summary: 'Makes a subscription inactive. It matches nothing.',
        operands: [ID],
        examples: ['posthorn subscriptions deactivate 01KA4'],
      },
    },
    async () => (await import('./resources.ts')).subscriptions,
  ),
  ...resource(
    'sources',
    {
      list: { summary: 'Lists sources.', flags: { limit }, examples: ['posthorn sources'] },
      get: { summary: 'Shows a source.', operands: [ID], examples: ['posthorn sources get 01KA5'] },
      create: {
        summary: 'Creates a source.',
        flags: sourceFields,
        examples: ['posthorn sources create --name github --type http --data @github.json'],
      },
      update: {
        summary: 'Changes a source. Fields that are not named keep their value.',
        operands: [ID],
        flags: sourceFields,
        examples: ['posthorn sources update 01KA5 --name hooks'],
      },
      delete: {
        summary: 'Deletes a source and its subscriptions.',
        operands: [ID],
        examples: ['posthorn sources delete 01KA5'],
      },
      pause: {
        summary: 'Disables a source. It takes nothing.',
        operands: [ID],
        examples: ['posthorn sources pause 01KA5'],
      },
      activate: {
        summary: 'Enables a source.',
        operands: [ID],
        examples: ['posthorn sources activate 01KA5'],
      },
      test: {
        summary: 'Connects to the broker of a source, without taking messages.',
        operands: [ID],
        examples: ['posthorn sources test 01KA5'],
      },
    },
    async () => (await import('./resources.ts')).sources,
  ),
  'event-types list': remote({
    group: 'Config',
    summary: 'Lists event types.',
    examples: ['posthorn event-types'],
    load: async () => (await import('./resources.ts')).listEventTypes,
  }),
};

const body: Flag = {
  value: 'BODY',
  summary: 'The body, byte for byte: the text itself, @FILE, or - for stdin.',
};
const simple: Flag = { summary: 'The Convoy scheme without a time.' };

const tools: Commands = {
  types: {
    group: 'Tools',
    summary: 'Prints TypeScript types of the payloads of event types with a JSON Schema.',
    flags: connectionFlags,
    examples: ['posthorn types > payloads.ts'],
    load: async () => (await import('./payload-types.ts')).types,
  },
  sign: {
    group: 'Tools',
    summary: 'Prints the signature headers of a body. Works offline.',
    flags: {
      secret,
      data: body,
      id: { value: 'ID', summary: 'The id of the delivery; a new one by default.' },
      timestamp: { value: 'SECONDS', summary: 'The time of the signature; now by default.' },
      simple,
      json: { summary: 'Print the headers as one JSON object.' },
    },
    examples: ['posthorn sign --secret env:SECRET --data @body.json'],
    load: async () => (await import('./signatures.ts')).sign,
  },
  verify: {
    group: 'Tools',
    summary: 'Checks the signature of a webhook. Works offline.',
    flags: {
      secret,
      data: body,
      header: { value: 'NAME:VALUE', summary: 'A header of the webhook.', many: true, short: 'H' },
      headers: { value: 'FILE', summary: 'A file with the headers, one a line.' },
      tolerance: { value: 'SECONDS', summary: 'How old the signature may be; 300 by default.' },
      'any-time': { summary: 'Do not check the time.' },
      simple,
    },
    examples: ['posthorn verify --secret env:SECRET --data @body.json --headers headers.txt'],
    load: async () => (await import('./signatures.ts')).verify,
  },
};

export const remoteCommands: Commands = { ...setup, ...events, ...config, ...tools };
