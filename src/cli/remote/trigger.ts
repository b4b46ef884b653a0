import type { BatchEvent, BatchResult, BroadcastEvent, Posthorn } from '../../../client/src/posthorn.ts';
import { exampleOf } from '../../platform/json/schema-example.ts';
import { EXIT, StartupError, usageError } from '../../platform/startup-error.ts';
import type { Given } from '../terminal/command.ts';
import { readJson } from '../terminal/input.ts';
import { countLines, type JsonLine, readJsonLines } from '../terminal/json-lines.ts';
import { counted, line, note, printOne } from '../terminal/output.ts';
import { endProgress, noteInProgress, showProgress } from '../terminal/progress.ts';
import { terminal } from '../terminal/terminal.ts';
import { withService } from './connect.ts';

const OF_ONE = ['data', 'endpoint', 'owner', 'source', 'idempotency-key', 'header'];
const NAMED = 10;
const PART = 1_000;

/** Sends an event: to every subscriber, to one endpoint, or to the endpoints of an owner. Or those of a file. */
export async function trigger(given: Given): Promise<number | void> {
  const type = given.operand();
  const file = given.text('batch');
  if (file !== undefined) return sendFile(given, file);
  if (type === '') throw usageError('name the event type, or a file of events with --batch');
  const [endpoint, owner] = [given.text('endpoint'), given.text('owner')];
  if (endpoint !== undefined && owner !== undefined) throw usageError('give --endpoint or --owner, not both');
  const data = await readJson(given);
  await withService(given, async (posthorn) => {
    const event: BroadcastEvent = {
      event_type: type,
      data: data === undefined ? await exampleFor(posthorn, type) : data,
      ...given.fields({ idempotency_key: 'idempotency-key', source_id: 'source', deliver_at: 'deliver-at' }),
      ...optional('delay_seconds', secondsOf(given, 'delay')),
      ...optional('ttl_seconds', secondsOf(given, 'ttl')),
      ...optional('custom_headers', headersOf(given.texts('header'))),
    };
    if (given.has('dry-run')) return printTrial(given, posthorn, wholeOf(event, { endpoint, owner }));
    const sent = await send(posthorn, event, { endpoint, owner });
    const { uid, event_type, is_duplicate_event, deliver_at, created_at } = sent;
    const later = deliver_at === null ? {} : { deliver_at };
    await printOne(given, { uid, event_type, is_duplicate_event, ...later, created_at });
  });
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

function wholeOf(
  event: BroadcastEvent,
  { endpoint, owner }: { endpoint?: string | undefined; owner?: string | undefined },
): BatchEvent {
  if (endpoint !== undefined) return { ...event, kind: 'direct', endpoint_id: endpoint };
  return owner === undefined
    ? { ...event, kind: 'broadcast' }
    : { ...event, kind: 'fanout', owner_id: owner };
}

/** Says who would get the event. */
async function printTrial(given: Given, posthorn: Posthorn, event: BatchEvent): Promise<void> {
  const trial = await posthorn.events.dryRun(event);
  const { deliveries, endpoints, failure_reason: reason, duplicate_of: duplicate } = trial;
  const outlook = duplicate === '' ? reason : `it is a duplicate of ${duplicate}`;
  await printOne(given, trial, [
    `would be sent: ${counted(deliveries, 'delivery', 'deliveries')} to ${counted(endpoints.length, 'endpoint')}${outlook === '' ? '' : `; ${outlook}`}`,
    ...endpoints.slice(0, NAMED).map((id) => `  ${id}`),
    ...(endpoints.length > NAMED ? [`  and ${counted(endpoints.length - NAMED, 'more endpoint')}`] : []),
  ]);
}

/** Each line of the file is an event of `POST .../events/batch`. */
async function sendFile(given: Given, file: string): Promise<number> {
  if (
    given.operands.length > 0 ||
    given.has('dry-run') ||
    OF_ONE.some((flag) => given.texts(flag).length > 0)
  )
    throw usageError(
      'with --batch the file says all about its events; give no type, payload, target or --dry-run',
    );
  const total = await countLines(file);
  const counts = { stored: 0, duplicate: 0, refused: 0 };
  await withService(given, async (posthorn) => {
    let sentTo = 0;
    for await (const part of readJsonLines(file, PART)) {
      const results = await sendPart(posthorn, part).catch((error: unknown) => {
        if (sentTo > 0) noteInProgress(`the events up to line ${sentTo} were sent`);
        throw error;
      });
      for (const { status, uid, place, message } of results) {
        counts[status] += 1;
        if (status === 'refused') noteInProgress(`line ${place}: ${message}`);
        else if (given.has('quiet')) line(uid);
      }
      sentTo = part.at(-1)?.number ?? sentTo;
      if (terminal().stderr.isTTY) showProgress({ done: sentTo, total });
      else note(`line ${sentTo}${total === null ? '' : ` of ${total}`}`);
    }
  });
  endProgress();
  const { stored, duplicate, refused } = counts;
  await printOne(given, counts, [`stored: ${stored}, duplicate: ${duplicate}, refused: ${refused}`]);
  return refused === 0 ? EXIT.done : EXIT.failed;
}

type LineResult = Pick<BatchResult, 'status' | 'uid' | 'message'> & { place: number };

/** The results in the order of the lines. A line that is not JSON is refused here. */
async function sendPart(posthorn: Posthorn, part: readonly JsonLine[]): Promise<LineResult[]> {
  const events = part.flatMap((one) => ('value' in one ? [one.value as BatchEvent] : []));
  const results = (await posthorn.events.sendMany(events)).values();
  return part.map((one) => {
    const place = one.number;
    if ('problem' in one) return { status: 'refused', uid: '', message: one.problem, place };
    const { status, uid, message } = results.next().value as BatchResult;
    return { status, uid, message: message.replaceAll(/(?<=^|; )events\[\d+\](\.|: )/g, ''), place };
  });
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

function secondsOf(given: Given, flag: string): number | undefined {
  const text = given.text(flag);
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text)) throw usageError(`--${flag} takes a whole number of seconds`);
  return Number(text);
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
