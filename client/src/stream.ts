/*
 * Follows a project: one connection after the other, until the caller ends it or the server bars it.
 *
 *   open -> a message -> yielded
 *        -> the connection breaks -> wait, 1 s at first and 30 s at most -> open, from the last id on
 *        -> refused with a 4xx other than 429 -> PosthornError
 *
 * After a break the server goes back 10 s, so a row may come twice, with the same uid.
 */
import { PosthornError } from './errors.ts';
import type { Caller } from './request.ts';
import { pause } from './wait.ts';

export interface StreamedEvent {
  uid: string;
  event_type: string;
  source_id: string;
  status: string;
  failure_reason: string;
  is_duplicate_event: boolean;
  endpoints: string[];
  created_at: string;
}

export interface StreamedDelivery {
  uid: string;
  event_id: string;
  endpoint_id: string;
  subscription_id: string;
  event_type: string;
  status: string;
  num_trials: number;
  last_outcome: string;
  latency_ms: number | null;
  created_at: string;
  updated_at: string;
}

export type StreamMessage =
  | { kind: 'event'; data: StreamedEvent }
  | { kind: 'event_delivery'; data: StreamedDelivery }
  /** There were more rows than are shown. */
  | { kind: 'more' }
  /** Rows may be missing: read the lists again. */
  | { kind: 'reset' };

const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 30_000;

export async function* follow(
  caller: Caller,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<StreamMessage> {
  let lastId = '';
  for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)) {
    try {
      const response = await caller.stream(path, { lastId, signal });
      waitMs = FIRST_WAIT_MS;
      for await (const { name, id, data } of messages(response)) {
        if (id !== '') lastId = id;
        // The server says why when it refuses the next connection.
        if (name === 'end') break;
        yield { kind: name, data: JSON.parse(data) as unknown } as StreamMessage;
      }
    } catch (error) {
      if (signal.aborted) return;
      // Any other error is a broken connection, and the next one is tried.
      if (error instanceof PosthornError && error.status >= 400 && error.status < 500 && error.status !== 429)
        throw error;
    }
    if (await isOver(waitMs, signal)) return;
  }
}

/** Whether the signal came before the end of the wait. */
function isOver(ms: number, signal: AbortSignal): Promise<boolean> {
  return pause(ms, signal).then(
    () => false,
    () => true,
  );
}

interface Message {
  name: string;
  id: string;
  data: string;
}

async function* messages(response: Response): AsyncGenerator<Message> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      text += chunk.value;
      const parts = text.split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) {
        const message = parse(part);
        if (message.name !== '') yield message;
      }
    }
  } finally {
    // A caller that leaves its loop closes the connection. On a broken one this rejects with the error of the read above.
    await reader.cancel().catch(() => undefined);
  }
}

/** A comment has no name. */
function parse(part: string): Message {
  const message: Message = { name: '', id: '', data: '' };
  for (const line of part.split('\n')) {
    if (line.startsWith('event: ')) message.name = line.slice(7);
    else if (line.startsWith('id: ')) message.id = line.slice(4);
    else if (line.startsWith('data: ')) message.data += line.slice(6);
  }
  return message;
}
