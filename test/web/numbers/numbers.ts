import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import type { World } from '../world.ts';
import { type Incident, startIncident } from './incident.ts';
import { type Place, places } from './places.ts';

/** Minutes of traffic. One round by default; `NUMBERS_MINUTES=10` takes ten minutes. */
const MINUTES = Number(process.env['NUMBERS_MINUTES'] ?? 0);

/** Numbers that a page shows are those of the answer behind it, and the same thing has one number everywhere. */
export function numberTests(get: () => World): void {
  describe('in an incident', () => {
    let incident: Incident;
    let checked: Checked;
    beforeAll(async () => {
      incident = await startIncident(get().app);
      checked = new Checked(get().page);
    });
    afterAll(() => incident?.stop());

    const round = async () => {
      const { open } = get();
      const { project, endpoints } = incident;
      for (const path of ['overview', 'endpoints', 'customers', 'failures'] as const) {
        await open(path, project.projectId);
        for (const place of places[path]) await checked.compare(path, place);
      }
      for (const { uid, name } of endpoints.filter(({ status }) => status !== 'inactive').slice(0, 3)) {
        await open(`endpoints/${uid}`, project.projectId);
        for (const place of places.endpoint) await checked.compare(name, place);
      }
    };

    it('every number is that of the answer that it is drawn from', {
      timeout: 60_000 * (MINUTES + 10),
    }, async () => {
      const traffic = incident.startTraffic(100);
      const until = Date.now() + MINUTES * 60_000;
      do await round();
      while (Date.now() < until);
      await traffic.stop();
      expect(checked.differences).toEqual([]);
      expect(checked.count).toBeGreaterThan(30);
    });

    it('after the traffic every place has the same number for the same thing', async () => {
      await settled(incident.project);
      // A breaker that is open sends a probe now and then, also between two questions.
      await eventually(() => disagreements(get(), incident.project), { length: 0 }, 60_000);
      await round();
      expect(checked.differences).toEqual([]);
      if (MINUTES > 0) console.info(`${checked.count} numbers compared`);
    });
  });
}

/** Compares what a page shows with the last answer. The page may take a moment to draw it. */
class Checked {
  readonly differences: string[] = [];
  count = 0;
  #answers: { url: string; data: Json }[] = [];
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
    page.on('request', (request) => {
      if (request.isNavigationRequest()) this.#answers = [];
    });
    page.on('response', async (response) => {
      if (!response.url().includes('/api/v1/') || !response.ok()) return;
      // An answer that a new page aborted has no body.
      const body = await response.json().catch(() => null);
      if (body !== null) this.#answers.push({ url: response.url(), data: body.data });
    });
  }

  async compare(page: string, place: Place): Promise<void> {
    const isSame = ({ wanted, shown }: { wanted: string[] | null; shown: string[] }) =>
      wanted !== null && JSON.stringify(wanted) === JSON.stringify(shown);
    const read = async () => {
      const shown = await this.#page.evaluate<string[]>(place.read);
      const answer = this.#answers.findLast(({ url }) => place.answer.test(url));
      return { wanted: answer === undefined ? null : place.expected(answer.data), shown };
    };
    const found = await eventually(read, isSame, 20_000).catch(read);
    if (!isSame(found)) this.differences.push(`${page}, ${place.name}: ${JSON.stringify(found)}`);
    this.count += found.wanted?.length ?? 0;
  }
}

/** Until nothing is tried any more: counts of two questions in a row are the same, and no retry is due. */
async function settled(project: ApiClient): Promise<void> {
  let before = '';
  await eventually(
    async () => {
      const [{ totals }, waiting] = await Promise.all([
        project.get('/timeseries'),
        project.get('/eventdeliveries/waitingtotals'),
      ]);
      await pause(1_000);
      return { text: JSON.stringify([totals, waiting]), waiting };
    },
    ({ text, waiting }) => {
      const isSame =
        text === before && waiting.retry + waiting.node + waiting.sending + waiting.rate_limit === 0;
      before = text;
      return isSame;
    },
  );
}

const COUNTS = ['attempts', 'failed_attempts', 'delivered', 'failed', 'discarded'] as const;

/** Compares the numbers of every way that the API has. Empty: they agree. */
async function disagreements({ app }: World, project: ApiClient): Promise<string[]> {
  const found: string[] = [];
  const same = (what: string, values: unknown[]) => {
    if (new Set(values.map((value) => JSON.stringify(value))).size > 1)
      found.push(`${what}: ${JSON.stringify(values)}`);
  };
  const { endpoints } = await project.get('/health?limit=1000');
  const { customers } = await project.get('/health?by=customer&limit=1000');
  const { totals } = await project.get('/timeseries');
  const { complete: isCounted, ...waiting } = await project.get('/eventdeliveries/waitingtotals');
  if (!isCounted) found.push('not all open deliveries were counted');
  const sum = (rows: Json[], name: string) => rows.reduce((total, row) => total + row[name], 0);
  for (const name of COUNTS) same(name, [totals[name], sum(endpoints, name), sum(customers, name)]);
  const open = Object.values(waiting as Record<string, number>).reduce((total, value) => total + value, 0);
  same('open', [open, sum(endpoints, 'open'), sum(customers, 'open')]);
  for (const { endpoint_id: id, name, ...health } of endpoints) {
    const [of] = (await project.get(`/health?endpointId=${id}`)).endpoints;
    const status = await project.get(`/eventdeliveries/statustotals?endpointId=${id}`);
    const { totals: own } = await project.get(`/timeseries?endpointId=${id}`);
    for (const each of COUNTS) same(`${each} of ${name}`, [health[each], of[each], own[each]]);
    same(`deliveries of ${name}`, [
      [health.delivered, health.failed, health.discarded, health.open],
      [status.Success, status.Failure, status.Discarded, status.Scheduled + status.Retry + status.Processing],
    ]);
    const [stored] = (await app.database.query(
      `select count(*)::int as attempts, (count(*) filter (where not succeeded))::int as failed
       from attempts where project_id = $1 and endpoint_id = $2`,
      [project.projectId, id],
    )) as [Json];
    same(`attempts of ${name}`, [health.attempts, stored.attempts]);
    same(`failed attempts of ${name}`, [health.failed_attempts, stored.failed]);
  }
  for (const customer of customers) {
    const { token } = await project.post('/portal-links', { name: 'link', owner_id: customer.owner_id });
    const portal = await new ApiClient(`${app.url}/portal-api`, token).get('/health?by=customer');
    for (const name of [...COUNTS, 'open'])
      same(`${name} of ${customer.owner_id} in the portal`, [customer[name], portal.customers[0][name]]);
  }
  return found;
}
