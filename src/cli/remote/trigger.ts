import type { BroadcastEvent, Posthorn } from '../../../client/src/posthorn.ts';
import { StartupError, usageError } from '../../platform/startup-error.ts';
import type { Given } from '../terminal/command.ts';
import { readJson } from '../terminal/input.ts';
import { printOne } from '../terminal/output.ts';
import { withService } from './connect.ts';
import { exampleOf } from './schema-example.ts';

/** Sends an event: to every subscriber, to one endpoint, or to the endpoints of an owner. */
export async function trigger(given: Given): Promise<undefined> {
  const type = given.operand();
  const [endpoint, owner] = [given.text('endpoint'), given.text('owner')];
  if (endpoint !== undefined && owner !== undefined) throw usageError('give --endpoint or --owner, not both');
  const data = await readJson(given);
  await withService(given, async (posthorn) => {
    const event: BroadcastEvent = {
      event_type: type,
      data: data === undefined ? await exampleFor(posthorn, type) : data,
      ...optional('idempotency_key', given.text('idempotency-key')),
      ...optional('source_id', given.text('source')),
      ...optional('custom_headers', headersOf(given.texts('header'))),
    };
    const sent = await send(posthorn, event, { endpoint, owner });
    const { uid, event_type, is_duplicate_event, created_at } = sent;
    await printOne(given, { uid, event_type, is_duplicate_event, created_at });
  });
  return undefined;
}

function send(
  posthorn: Posthorn,
  event: BroadcastEvent,
  to: { endpoint?: string | undefined; owner?: string | undefined },
) {
  if (to.endpoint !== undefined) return posthorn.events.create({ ...event, endpoint_id: to.endpoint });
  if (to.owner !== undefined) return posthorn.events.fanout({ ...event, owner_id: to.owner });
  return posthorn.events.broadcast(event);
}

/** Without --data the example of the event type is sent. */
async function exampleFor(posthorn: Posthorn, name: string): Promise<unknown> {
  const type = (await posthorn.eventTypes.list()).find((one) => one.name === name);
  if (type === undefined || type.json_schema === null)
    throw new StartupError(
      `the event type ${name} has no JSON Schema to make an example from; give the payload with --data`,
    );
  return exampleOf(type.json_schema);
}

function headersOf(given: readonly string[]): Record<string, string> | undefined {
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((header) => {
      const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(header) ?? [];
      if (name === undefined || value === undefined) throw usageError('a header is given as "Name: value"');
      return [name, value];
    }),
  );
}

export function optional<Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): Partial<Record<Name, Value>> {
  return (value === undefined ? {} : { [name]: value }) as Partial<Record<Name, Value>>;
}
