import type { Figure } from '../figure.ts';
import { measureDeliveries } from '../measure.ts';
import { compared } from '../report/compared.ts';
import type { Service } from '../service.ts';
import type { Stage } from '../stage.ts';
import { LOAD_EVENT, subjectOf, warmUp } from '../subjects.ts';

/**
 * Eight callers send the worst requests that we know, each again as soon as it is answered: with a key of one tenant, and
 * without a credential. How much later do another tenant's deliveries arrive?
 */
const RATE_PER_SECOND = 100;
const BODY_BYTES = 5_000_000;
const PAYLOAD_BYTES = 1_000_000;
const NAMES = 380_000;
/** Legal: a body has at most 200,000 lists. */
const LISTS = 190_000;
const REGEX_FILTERS = 300;
const TYPE = 'worst';

interface Worst {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body?: Buffer;
}

export const worstRequest: Figure = {
  name: 'worst_request',
  rounds: () => 1,
  run: async (stage) => {
    const service = await stage.startService();
    try {
      const others = await service.newTenant('others');
      const tenant = await service.newTenant('worst');
      await others.subscribe(`${stage.sinkUrl}/ok`, LOAD_EVENT);
      await subscribeFilters(stage, tenant);
      const requests = worstRequests(tenant);
      await warmUp(stage, subjectOf(others), LOAD_EVENT);
      const without = await measure(stage, others);
      const callers = new Callers(requests);
      const beside = await measure(stage, others);
      const calls = await callers.stop();
      const aboveMs = (beside['p99Ms'] as number) - (without['p99Ms'] as number);
      return { ...compared(without, beside), aboveMs, callers: requests.length, calls };
    } finally {
      await service.stop();
    }
  },
};

/** Patterns that match nothing, on all of the payload. */
async function subscribeFilters(stage: Stage, tenant: Service): Promise<void> {
  for (let number = 0; number < Math.min(REGEX_FILTERS, stage.plan.toxicBacklog); number++)
    await tenant.subscribe(`${stage.sinkUrl}/ok`, TYPE, {
      subscription: {
        filter_config: { event_types: [TYPE], filter: { body: { text: { $regex: `[a-z]+${number}$` } } } },
      },
    });
}

const repeated = (part: string, bytes: number): string => part.repeat(Math.floor(bytes / part.length));

function worstRequests(tenant: Service): Worst[] {
  const { broadcastUrl, authorization } = tenant;
  const json = { 'content-type': 'application/json' };
  const events = broadcastUrl.replace(/\/broadcast$/, '');
  const project = events.replace(/\/events$/, '');
  const post = (url: string, body: string, own: Record<string, string> = { authorization }): Worst => ({
    method: 'POST',
    url,
    headers: { ...json, ...own },
    body: Buffer.from(body),
  });
  const event = (data: string) => post(broadcastUrl, `{"event_type":"${TYPE}","data":${data}}`);
  const names = Array.from({ length: NAMES }, (_, n) => `"k${n}":0`).join(',');
  const manyLists = `[${repeated('[],', BODY_BYTES)}0]`;
  const lists = (size: number) => `[${'[],'.repeat(LISTS)}${repeated('0,', size - 3 * LISTS)}0]`;
  const bytes = { authorization, accept: 'application/json; payload=bytes' };
  return [
    post(new URL('/auth/sign-in', broadcastUrl).href, `{"email":${manyLists}}`, {}),
    post(broadcastUrl, `{"event_type":"${TYPE}","data":1,${names}}`),
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

const measure = (stage: Stage, others: Service) =>
  measureDeliveries(stage, subjectOf(others), {
    eventType: LOAD_EVENT,
    seconds: stage.plan.seconds,
    connections: 64,
    ratePerSecond: RATE_PER_SECOND,
  });
