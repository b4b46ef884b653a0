import { deliveryStatuses } from '../../domain/delivery.ts';
import { type Command, type Commands, connectionFlags, type Flag, inGroup } from '../terminal/command.ts';
import {
  bulkFlags,
  deliveryFilters,
  endpointsFlag,
  eventFilters,
  ID,
  IDS,
  jobFilters,
  limit,
  named,
  orderFlag,
  ownerFlag,
  remote,
  secret,
  timeFlags,
} from '../terminal/shared-flags.ts';
import { configCommands } from './resource-commands.ts';

/*
 * The commands that call a service or work offline. They read nothing of the server: `load` reads only what the command
 * needs, and layers.json holds the folder to that.
 */

const setup = inGroup('Setup', {
  login: {
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
    summary: 'Removes a profile.',
    flags: { profile: { value: 'NAME', summary: 'The profile; the current one by default.' } },
    examples: ['posthorn logout --profile staging'],
    load: async () => (await import('./login.ts')).logout,
  },
});

const events = inGroup('Events', {
  trigger: remote({
    summary: 'Sends an event, or a file of them.',
    details:
      'Without --data the payload is made from the JSON Schema of the event type. With --batch each line is an event of POST .../events/batch, and refused lines are named.',
    operands: [{ name: 'TYPE', summary: 'The event type.', optional: true }],
    flags: {
      batch: { value: 'FILE', summary: 'Send the events of this file, one JSON object a line; - for stdin.' },
      data: { value: 'JSON', summary: 'The payload: JSON, @FILE, or - for stdin.' },
      endpoint: named('endpoint', 'To this endpoint only.'),
      owner: { value: 'OWNER', summary: 'To the endpoints of this owner only.' },
      source: named('source', 'As an event of this source.'),
      'idempotency-key': { value: 'KEY', summary: 'A second event with the same key is not sent.' },
      'deliver-at': { value: 'TIME', summary: 'Deliver it at this time, such as 2026-01-31T15:04:05Z.' },
      delay: { value: 'SECONDS', summary: 'Deliver it after so many seconds.' },
      ttl: { value: 'SECONDS', summary: 'Discard what is not delivered within so many seconds.' },
      header: { value: 'NAME:VALUE', summary: 'A header to send with the event.', many: true },
      'dry-run': { summary: 'Only say who would get it.' },
    },
    examples: [
      `posthorn trigger invoice.paid --data '{"invoice": 7}'`,
      'posthorn trigger invoice.paid --data @invoice.json',
      'posthorn trigger --batch events.ndjson',
    ],
    load: async () => (await import('./trigger.ts')).trigger,
  }),
  tail: {
    summary: 'Shows events and deliveries as they happen.',
    flags: {
      'event-type': { value: 'GLOB', summary: 'Only these event types, such as invoice.*.', many: true },
      endpoint: { ...named('endpoint', 'Only of this endpoint.'), many: true },
      status: { value: 'STATUS', oneOf: deliveryStatuses, summary: 'Only in this state.', many: true },
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
  listen: {
    summary: 'Forwards new deliveries to a program on this machine, and records its answers.',
    details:
      'Deliveries have the signatures that an endpoint would get. Without --forward-to they are only shown. Ctrl-C ends it.',
    flags: {
      'forward-to': {
        value: 'URL',
        summary: 'Where to send each delivery, such as http://localhost:3000/hooks.',
      },
      'event-type': { value: 'GLOB', summary: 'Only these event types, such as invoice.*.', many: true },
      source: named('source', 'Only events of this source.'),
      filter: { value: 'JSON', summary: 'Only events whose payload passes this filter.' },
      since: {
        value: 'TIME',
        summary: 'Also stored events since then: a duration such as 10m, or RFC 3339.',
      },
      timeout: {
        value: 'SECONDS',
        summary: 'How long the local program may take, 1 to 25; 25 by default. Then the attempt has failed.',
      },
      name: { value: 'NAME', summary: 'The name of the device; the name of this machine by default.' },
      'allow-remote': { summary: 'Allow a target on another machine.' },
      print: { summary: 'Also print the payloads.' },
      json: { summary: 'Print each delivery as one line of JSON.' },
      ...connectionFlags,
    },
    examples: ["posthorn listen --forward-to http://localhost:3000/hooks --event-type 'invoice.*'"],
    load: async () => (await import('./listen.ts')).listen,
  },
  'events list': remote({
    summary: 'Lists events, newest first.',
    flags: { ...eventFilters, limit },
    examples: [
      'posthorn events list --since 1h',
      `posthorn events list --body '{"invoice": 7}' --output json`,
    ],
    load: async () => (await import('./history.ts')).listEvents,
  }),
  'events get': remote({
    summary: 'Shows an event with its payload.',
    operands: [ID],
    examples: ['posthorn events get 01KA2 --output json'],
    load: async () => (await import('./history.ts')).getEvent,
  }),
  'events explain': remote({
    summary: 'Shows for each subscription why it matches an event or not.',
    operands: [ID],
    examples: ['posthorn events explain 01KA2'],
    load: async () => (await import('./history.ts')).explainEvent,
  }),
  status: remote({
    summary: 'Shows the endpoints in trouble, and how many deliveries wait.',
    examples: ['posthorn status', 'posthorn status --output json | jq .waiting'],
    load: async () => (await import('./status.ts')).status,
  }),
  failures: remote({
    summary: 'Groups failing deliveries by endpoint and cause, of the last 24 hours by default.',
    flags: {
      ...timeFlags,
      ...endpointsFlag,
      ...ownerFlag,
      'event-type': { value: 'TYPE', summary: 'Only of this event type.' },
    },
    examples: ['posthorn failures --since 2h'],
    load: async () => (await import('./status.ts')).failures,
  }),
  'jobs list': remote({
    summary: 'Lists replays, retries and other jobs, newest first.',
    flags: { limit },
    examples: ['posthorn jobs'],
    load: async () => (await import('./history.ts')).listJobs,
  }),
  'jobs get': remote({
    summary: 'Shows a job and its progress.',
    operands: [ID],
    examples: ['posthorn jobs get 01KA6'],
    load: async () => (await import('./history.ts')).getJob,
  }),
  'jobs cancel': remote({
    summary: 'Cancels a job. Finished work stays done.',
    operands: [ID],
    examples: ['posthorn jobs cancel 01KA6'],
    load: async () => (await import('./history.ts')).cancelJob,
  }),
  'deliveries list': remote({
    summary: 'Lists deliveries, newest first.',
    flags: { ...deliveryFilters, limit },
    examples: ['posthorn deliveries list --status Failure --since 1d'],
    load: async () => (await import('./history.ts')).listDeliveries,
  }),
  'deliveries get': remote({
    summary: 'Shows a delivery.',
    operands: [ID],
    examples: ['posthorn deliveries get 01KA3'],
    load: async () => (await import('./history.ts')).getDelivery,
  }),
  'deliveries attempts': remote({
    summary: 'Lists the attempts of a delivery, oldest first.',
    operands: [ID],
    examples: ['posthorn deliveries attempts 01KA3'],
    load: async () => (await import('./history.ts')).listAttempts,
  }),
  'deliveries send-now': remote({
    summary: 'Makes waiting deliveries due now.',
    details: 'A pause and a rate limit still hold them. Behind an open circuit breaker one goes as a probe.',
    operands: [IDS],
    flags: { ...bulkFlags, ...deliveryFilters },
    examples: [
      'posthorn deliveries send-now 01KA3',
      'posthorn deliveries send-now --endpoint 01KA1 --rate 50',
    ],
    load: async () => (await import('./bulk.ts')).sendNow,
  }),
  'ordering-keys list': remote({
    summary: 'Lists ordering keys in which a delivery is open or failed.',
    flags: {
      held: { summary: 'Only keys that a failed delivery holds.' },
      subscription: named('subscription', 'Only of this subscription.'),
      limit,
    },
    examples: ['posthorn ordering-keys --held'],
    load: async () => (await import('./history.ts')).listOrderingKeys,
  }),
  'ordering-keys skip': remote({
    summary: 'Lets the next deliveries of held ordering keys go. The failed ones stay failed.',
    operands: [{ name: 'ID', summary: 'The ids of the keys.', many: true }],
    examples: ['posthorn ordering-keys skip 01KA4:account-7'],
    load: async () => (await import('./history.ts')).skipOrderingKeys,
  }),
  replay: remote({
    summary: 'Matches events again and delivers them.',
    operands: [IDS],
    flags: {
      ...bulkFlags,
      'only-endpoint': { summary: 'Send only to the endpoints of --endpoint and --owner, as without this.' },
      order: orderFlag,
      ...jobFilters,
      endpoint: { ...named('endpoint', 'Only events for this endpoint, sent to it alone.'), many: true },
      owner: { value: 'OWNER', summary: 'Only events for endpoints of this owner, sent to those alone.' },
    },
    examples: ['posthorn replay 01KA2', 'posthorn replay --since 1h --owner acme --dry-run'],
    load: async () => (await import('./bulk.ts')).replay,
  }),
  retry: remote({
    summary: 'Sends failed or discarded deliveries again.',
    operands: [IDS],
    flags: { ...bulkFlags, order: orderFlag, ...deliveryFilters },
    examples: ['posthorn retry 01KA3', 'posthorn retry --endpoint 01KA1 --outcome http_5xx --rate 50'],
    load: async () => (await import('./bulk.ts')).retry,
  }),
  cancel: remote({
    summary: 'Discards open deliveries.',
    flags: { ...bulkFlags, ...deliveryFilters },
    examples: ['posthorn cancel --endpoint 01KA1 --dry-run'],
    load: async () => (await import('./bulk.ts')).cancel,
  }),
});

const body: Flag = {
  value: 'BODY',
  summary: 'The body, byte for byte: the text itself, @FILE, or - for stdin.',
};
const simple: Flag = { summary: 'The Convoy scheme without a time.' };

const tools = inGroup('Tools', {
  mcp: {
    summary: 'Serves the tools of a service to an assistant on this machine, by the Model Context Protocol.',
    details:
      'It reads messages from stdin and prints the answers. The service needs POSTHORN_MCP=on. The assistant may do what the key may.',
    flags: connectionFlags,
    examples: ['posthorn mcp', 'posthorn mcp --url https://posthorn.example.com'],
    load: async () => (await import('./mcp.ts')).mcp,
  },
  types: {
    summary: 'Prints TypeScript types of the payloads of event types with a JSON Schema.',
    flags: connectionFlags,
    examples: ['posthorn types > payloads.ts'],
    load: async () => (await import('./payload-types.ts')).types,
  },
  sign: {
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
});

/** A command that takes names where ids are gets ids. */
const takingNames = (command: Command): Command => ({
  ...command,
  load: async () => {
    const run = await command.load();
    const { withIds } = await import('./names.ts');
    return async (given) => run(await withIds(given, command));
  },
});

export const remoteCommands: Commands = Object.fromEntries(
  Object.entries({ ...setup, ...events, ...configCommands, ...tools }).map(([name, command]) => {
    const places = [...(command.operands ?? []), ...Object.values(command.flags ?? {})];
    return [name, places.some(({ of }) => of !== undefined) ? takingNames(command) : command];
  }),
);
