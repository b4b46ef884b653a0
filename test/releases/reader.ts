import { ApiClient, type Json } from '../support/client.ts';

/**
 * Answers of the API about stored things, by path. The same rows give the same answers at any time: the address of the
 * service is left out, and so is everything that moves with the time or with the reads themselves.
 */
export type Answers = Record<string, Json>;

export class Reader {
  readonly answers: Answers = {};
  readonly #client: ApiClient;
  readonly #url: string;

  constructor(url: string, instanceKey: string) {
    this.#url = url;
    this.#client = new ApiClient(`${url}/api/v1`, instanceKey);
  }

  async read(path: string): Promise<Json> {
    const answer = await this.#client.get(path);
    this.answers[path] = stable(answer, this.#url);
    return answer;
  }

  /** Finds everything. `range`: the query of a range with all of it. */
  async readAll(range: string): Promise<Answers> {
    await this.read('/people?perPage=1000');
    for (const { uid } of await this.read('/projects')) {
      await this.#readConfig(`/projects/${uid}`);
      await this.#readTraffic(`/projects/${uid}`, range);
    }
    return this.answers;
  }

  async #readConfig(project: string): Promise<void> {
    await this.read(project);
    for (const name of ['keys', 'event-types', 'views', 'people']) await this.read(`${project}/${name}`);
    for (const name of ['endpoints', 'sources', 'portal-links', 'jobs', 'audit'])
      await this.read(`${project}/${name}?perPage=1000`);
    for (const uid of await this.#idsOf(`${project}/subscriptions`))
      await this.read(`${project}/subscriptions/${uid}/filters`);
  }

  async #readTraffic(project: string, range: string): Promise<void> {
    await this.read(`${project}/meta-events?perPage=1000`);
    await this.read(`${project}/timeseries?step=hour&${range}`);
    await this.read(`${project}/eventdeliveries/statustotals?${range}`);
    await this.#idsOf(`${project}/events`);
    for (const uid of await this.#idsOf(`${project}/eventdeliveries`))
      await this.read(`${project}/eventdeliveries/${uid}/deliveryattempts`);
  }

  async #idsOf(path: string): Promise<string[]> {
    const { content } = await this.read(`${path}?perPage=1000`);
    return content.map(({ uid }: Json) => uid);
  }
}

const MOVING = new Set([
  'last_used_at',
  'last_sign_in_at',
  'failure_rate',
  'cb_state',
  'waiting_for',
  'next_send_time',
  // A circuit breaker that is still open.
  'breaker_openings',
]);

function stable(value: Json, url: string): Json {
  if (typeof value === 'string') return value.replaceAll(url, 'http://posthorn');
  if (Array.isArray(value)) return value.map((each) => stable(each, url));
  if (value === null || typeof value !== 'object') return value;
  // An open delivery says in words what it waits for.
  const isOpen = (value.waiting_for ?? null) !== null;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !MOVING.has(name) && !(isOpen && name === 'description'))
      .map(([name, each]) => [name, stable(each, url)]),
  );
}
