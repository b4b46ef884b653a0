import type { TObject } from 'typebox';
import { oneOf, Type } from '../../platform/type.ts';
import { BroadcastEvent, CreateEvent, DynamicEvent, FanoutEvent } from './event-schema.ts';

/** The calls that send one event, by the `kind` that an event of a batch names. */
export const singleCalls = {
  direct: CreateEvent,
  fanout: FanoutEvent,
  dynamic: DynamicEvent,
  broadcast: BroadcastEvent,
} as const satisfies Record<string, TObject>;

export type EventKind = keyof typeof singleCalls;
export const eventKinds = Object.keys(singleCalls) as EventKind[];

const { direct, fanout, dynamic, broadcast } = singleCalls;
const kind = oneOf(eventKinds, 'The call that sends such an event alone. It takes the fields of that call.');

/** An event of a batch: the fields of its kind. Those of a single kind are optional here, and checked for each event. */
export const BatchEvent = Type.Object({
  kind,
  ...Type.Partial(direct).properties,
  ...Type.Partial(fanout).properties,
  ...Type.Partial(dynamic).properties,
  ...broadcast.properties,
});

const MAX_EVENTS = 1_000;
const all_or_nothing = Type.Optional(
  Type.Boolean({ description: 'Store nothing if an event is refused. False by default.' }),
);
const count = { minItems: 1, maxItems: MAX_EVENTS };

export const BatchEvents = Type.Object({
  events: Type.Array(BatchEvent, { ...count, description: 'They are stored in this order.' }),
  all_or_nothing,
});

/** Each event is checked by itself, so that a bad one refuses only itself. */
export const UncheckedBatch = Type.Object({ events: Type.Array(Type.Unknown(), count), all_or_nothing });

export const BatchResult = Type.Object({
  status: oneOf(['stored', 'duplicate', 'refused'] as const),
  uid: Type.String({ description: 'The id of the event. Empty if it was refused.' }),
  duplicate_of: Type.String({
    description: 'For a duplicate: the id of the first event with its idempotency key, while it is known.',
  }),
  code: Type.String({ description: 'For a refused event: the error code, as of a call with it alone.' }),
  message: Type.String({ description: 'For a refused event: the reason.' }),
});

export const BatchResults = Type.Object({
  results: Type.Array(BatchResult, { description: 'One for each event, in the same place.' }),
});
