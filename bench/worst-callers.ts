import { setPriority } from 'node:os';
import { answer } from './child.ts';

/**
 * Callers that send the worst requests that we know, each again as soon as it is answered, in a process of their own. They
 * would be on machines of their own, so they get only the CPU that all others leave.
 */
const LOWEST_PRIORITY = 19;
const BODY_BYTES = 5_000_000;
const PAYLOAD_BYTES = 1_000_000;
const NAMES = 380_000;
/** Legal: a body has at most 200,000 lists. */
const LISTS = 190_000;

interface Tenant {
  broadcastUrl: string;
  authorization: string;
  eventType: string;
}

interface Worst {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body?: Buffer;
}

const repeated = (part: string, bytes: number): string => part.repeat(Math.floor(bytes / part.length));

function worstRequests({ broadcastUrl, authorization, eventType }: Tenant): Worst[] {
  const json = { 'content-type': 'application/json' };
  const events = broadcastUrl.replace(/\/broadcast$/, '');
  const project = events.replace(/\/events$/, '');
  const post = (url: string, body: string, own: Record<string, string> = { authorization }): Worst => ({
    method: 'POST',
    url,
    headers: { ...json, ...own },
    body: Buffer.from(body),
  });
  const event = (data: string) => post(broadcastUrl, `{"event_type":"${eventType}","data":${data}}`);
  const names = Array.from({ length: NAMES }, (_, n) => `"k${n}":0`).join(',');
  const manyLists = `[${repeated('[],', BODY_BYTES)}0]`;
  const lists = (size: number) => `[${'[],'.repeat(LISTS)}${repeated('0,', size - 3 * LISTS)}0]`;
  const bytes = { authorization, accept: 'application/json; payload=bytes' };
  return [
    post(new URL('/auth/sign-in', broadcastUrl).href, `{"email":${manyLists}}`, {}),
    post(broadcastUrl, `{"event_type":"${eventType}","data":1,${names}}`),
    post(`${project}/subscriptions/test_filter`, `{"request":{"body":${'['.repeat(BODY_BYTES)}`),
    post(
      `${project}/subscriptions/test_filter`,
      `{"request":{"body":{"a":${lists(BODY_BYTES - 1000)}}},"schema":{"body":{"a":1}}}`,
    ),
    event(lists(PAYLOAD_BYTES)),
    event(`{"text":"${repeated('\\u0061', PAYLOAD_BYTES)}"}`),
    event(`{"text":"${'x'.repeat(PAYLOAD_BYTES)}"}`),
    { method: 'GET', url: `${events}?perPage=1000`, headers: bytes },
  ];
}

class Callers {
  #isStopping = false;
  readonly #calls: Promise<number>[];

  constructor(requests: readonly Worst[]) {
    this.#calls = requests.map((request) => this.#call(request));
  }

  /** The number of all calls. */
  async stop(): Promise<number> {
    this.#isStopping = true;
    return (await Promise.all(this.#calls)).reduce((sum, calls) => sum + calls, 0);
  }

  async #call({ url, ...request }: Worst): Promise<number> {
    let calls = 0;
    while (!this.#isStopping) {
      const response = await fetch(url, request);
      if (response.status >= 500) throw new Error(`${url} answered ${response.status}`);
      await response.arrayBuffer();
      calls++;
    }
    return calls;
  }
}

let callers: Callers | undefined;

answer({
  start: (tenant: Tenant) => {
    setPriority(LOWEST_PRIORITY);
    const requests = worstRequests(tenant);
    callers = new Callers(requests);
    return requests.length;
  },
  stop: () => callers?.stop(),
});
