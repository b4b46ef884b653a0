import { deliveryGates, deliveryStatuses } from '../../domain/delivery.ts';
import {
  connectionFlags,
  type Flag,
  type NamedKind,
  type Operand,
  outputFlags,
  type Ungrouped,
} from './command.ts';

/** The arguments that several commands have. */

/** A command of a service: it connects, and prints in the form that the user chose. */
export const remote = <One extends Ungrouped>(command: One): One => ({
  ...command,
  flags: { ...command.flags, ...outputFlags, ...connectionFlags },
});

export const ID = { name: 'ID', summary: 'The id.' };
/** The id or the name of a thing. */
export const oneOfKind = (of: NamedKind): Operand => ({
  name: 'ID',
  of,
  summary: `The id, or the name if no other ${of} has it.`,
});
/** A flag whose value is the id or the name of a thing. */
export const named = (of: NamedKind, summary: string): Flag => ({ value: 'ID|NAME', of, summary });
export const IDS = {
  name: 'ID',
  summary: 'The ids. Without them, filters choose.',
  optional: true,
  many: true,
};

export const data: Flag = {
  value: 'JSON',
  summary: 'The fields as JSON: the text itself, @FILE, or - for stdin.',
};
export const limit: Flag = { value: 'N', summary: 'How many to list; 20 by default.' };
export const secret: Flag = { value: 'env:NAME|file:PATH', summary: 'Where to read the secret.' };

export const timeFlags: Record<string, Flag> = {
  since: { value: 'TIME', summary: 'From this time on: a duration back from now such as 10m, or RFC 3339.' },
  until: { value: 'TIME', summary: 'Up to this time.' },
};
export const ownerFlag: Record<string, Flag> = {
  owner: { value: 'OWNER', summary: 'Only for endpoints of this owner.' },
};
export const queryFlag: Record<string, Flag> = {
  query: { value: 'TEXT', summary: 'Only those with this text.' },
};
/** A search without dates has an end that its answer does not show. */
const BACK = 'without --since as far back as search_policy of the project';
const textFlag: Record<string, Flag> = {
  query: { value: 'TEXT', summary: `Only those with this text, ${BACK}.` },
};
export const endpointsFlag: Record<string, Flag> = {
  endpoint: { ...named('endpoint', 'Only for this endpoint.'), many: true },
};

/** The filters of events that a job can have. */
export const jobFilters: Record<string, Flag> = {
  ...timeFlags,
  ...endpointsFlag,
  source: { ...named('source', 'Only of this source.'), many: true },
  ...ownerFlag,
  'idempotency-key': { value: 'KEY', summary: 'Only with this idempotency key.' },
};

export const eventFilters: Record<string, Flag> = {
  ...jobFilters,
  ...textFlag,
  body: { value: 'JSON', summary: `Only events whose payload contains this object, ${BACK}.` },
};

export const deliveryFilters: Record<string, Flag> = {
  ...timeFlags,
  ...endpointsFlag,
  status: {
    value: 'STATUS',
    oneOf: deliveryStatuses,
    summary: 'Only in this state.',
    many: true,
  },
  'event-type': { value: 'TYPE', summary: 'Only of this event type.' },
  event: { value: 'ID', summary: 'Only of this event.' },
  subscription: named('subscription', 'Only of this subscription.'),
  ...ownerFlag,
  outcome: {
    value: 'OUTCOME',
    summary: 'Only with this last result, such as http_503 or timeout.',
    many: true,
  },
  'waiting-for': {
    value: 'GATE',
    oneOf: deliveryGates,
    summary: 'Only those that wait for this.',
    many: true,
  },
  ...textFlag,
};

export const orderFlag: Flag = {
  value: 'ORDER',
  oneOf: ['ignore'],
  summary: 'Send without regard to ordering keys. A held key stays held.',
};

export const bulkFlags: Record<string, Flag> = {
  all: { summary: 'Everything, without a filter.' },
  'dry-run': { summary: 'Show what would be done, and do nothing.' },
  rate: { value: 'N', summary: 'At most so many a second.' },
};
