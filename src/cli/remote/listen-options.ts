import { hostname } from 'node:os';
import { usageError } from '../../platform/startup-error.ts';
import type { Given } from '../terminal/command.ts';
import { readTime } from '../terminal/input.ts';
import { MAX_TIMEOUT_SECONDS } from './forward.ts';

/** The arguments of `posthorn listen`, checked. */
export interface ListenOptions {
  /** Undefined: deliveries are shown only. */
  target: URL | undefined;
  /** How long the program there may take. */
  timeoutSeconds: number;
  /** The message `listen`, without `since`. */
  first: object;
  /** From when stored events are wanted. Only the first connection asks for them. */
  since: string | undefined;
}

export function listenOptions(given: Given): ListenOptions {
  const types = given.texts('event-type');
  const source = given.text('source');
  const filter = given.text('filter');
  return {
    target: targetOf(given),
    timeoutSeconds: timeoutOf(given),
    first: {
      type: 'listen',
      host_name: given.text('name') ?? hostname(),
      ...(types.length > 0 && { event_types: types }),
      ...(source !== undefined && { source_id: source }),
      ...(filter !== undefined && { filter: { body: parseFilter(filter) } }),
    },
    since: sinceOf(given),
  };
}

/** Other machines get nothing without a word: deliveries may have the data of customers. */
function targetOf(given: Given): URL | undefined {
  const text = given.text('forward-to');
  if (text === undefined) return undefined;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usageError('--forward-to must be a URL such as http://localhost:3000/hooks');
  const url = new URL(text);
  const isHere = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (!isHere && !given.has('allow-remote'))
    throw usageError(`${url.hostname} is not this machine; add --allow-remote if that is meant`);
  return url;
}

function timeoutOf(given: Given): number {
  const seconds = given.count('timeout') ?? MAX_TIMEOUT_SECONDS;
  if (seconds > MAX_TIMEOUT_SECONDS)
    throw usageError(`--timeout must be at most ${MAX_TIMEOUT_SECONDS}, because a result is late after 30 s`);
  return seconds;
}

/** The service takes durations in hours, minutes and seconds. */
function sinceOf(given: Given): string | undefined {
  readTime(given, 'since');
  return given.text('since')?.replace(/^(\d+)d$/, (_text, days) => `${Number(days) * 24}h`);
}

function parseFilter(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw usageError(`--filter is not JSON: ${(error as Error).message}`);
  }
}
