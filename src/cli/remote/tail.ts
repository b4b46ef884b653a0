import type { StreamedDelivery, StreamedEvent, StreamMessage } from '../../../client/src/posthorn.ts';
import { printable } from '../../platform/printable.ts';
import type { Given } from '../terminal/command.ts';
import { note, printJson, styled, styledLine, styledStatus } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import { withService } from './connect.ts';

/*
 * Follows a project until Ctrl-C, or until --count rows were shown. The client connects again after a break and the
 * server then repeats 10 s, so a row that was shown with the same state is left out. The memory for that is bounded.
 */
const REMEMBERED = 10_000;

export async function tail(given: Given): Promise<void> {
  const ended = new AbortController();
  terminal().once('SIGINT', () => ended.abort());
  terminal().once('SIGTERM', () => ended.abort());
  const isWanted = filterOf(given);
  const show = given.has('json') ? (row: Row) => printJson(row) : (row: Row) => styledLine(lineOf(row));
  const seen = new Set<string>();
  let left = given.count('count') ?? Number.POSITIVE_INFINITY;
  await withService(given, async (posthorn) => {
    if (terminal().stdout.isTTY) note('Waiting for events and deliveries. Ctrl-C ends it.');
    for await (const message of posthorn.stream({ signal: ended.signal })) {
      const row = rowOf(message);
      if (row === undefined) {
        note('posthorn: there were more rows than are shown; posthorn events lists them all');
        continue;
      }
      if (!isWanted(row) || !isNew(seen, row)) continue;
      show(row);
      left -= 1;
      if (left === 0) ended.abort();
    }
  });
}

type Row = { kind: 'event'; data: StreamedEvent } | { kind: 'delivery'; data: StreamedDelivery };

function rowOf(message: StreamMessage): Row | undefined {
  if (message.kind === 'event') return message;
  return message.kind === 'event_delivery' ? { kind: 'delivery', data: message.data } : undefined;
}

function isNew(seen: Set<string>, { kind, data }: Row): boolean {
  const trials = 'num_trials' in data ? data.num_trials : 0;
  const state = `${kind} ${data.uid} ${data.status} ${trials}`;
  if (seen.has(state)) return false;
  seen.add(state);
  const [oldest] = seen;
  if (seen.size > REMEMBERED && oldest !== undefined) seen.delete(oldest);
  return true;
}

function filterOf(given: Given): (row: Row) => boolean {
  const types = given.texts('event-type');
  const [endpoints, statuses, kind] = [given.texts('endpoint'), given.texts('status'), given.text('only')];
  return (row) => {
    const { kind: itsKind, data } = row;
    const itsEndpoints = itsKind === 'delivery' ? [data.endpoint_id] : data.endpoints;
    return (
      (kind === undefined || (itsKind === 'event' ? 'events' : 'deliveries') === kind) &&
      (types.length === 0 || types.some((glob) => matchesGlob(glob, data.event_type))) &&
      (endpoints.length === 0 || endpoints.some((id) => itsEndpoints.includes(id))) &&
      (statuses.length === 0 || statuses.includes(data.status))
    );
  };
}

/** Event types are named by exact names, `*`, or a beginning such as invoice.*. */
export function matchesGlob(glob: string, type: string): boolean {
  if (glob === '*') return true;
  return glob.endsWith('*') ? type.startsWith(glob.slice(0, -1)) : glob === type;
}

function lineOf(row: Row): string {
  const { kind, data } = row;
  const time = kind === 'event' ? data.created_at : data.updated_at;
  const parts = [
    styled('gray', printable(time.slice(11, 23))),
    kind.padEnd(8),
    printable(`${data.event_type}  ${data.uid}`),
    styledStatus(data.status),
  ];
  if (kind === 'event') return [...parts, data.is_duplicate_event ? 'duplicate' : ''].join('  ').trimEnd();
  const latency = data.latency_ms === null ? '' : `${Math.round(data.latency_ms)} ms`;
  return [...parts, printable(`to ${data.endpoint_id}  ${data.last_outcome}`), latency].join('  ').trimEnd();
}
