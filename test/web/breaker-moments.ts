import { expect, it } from 'vitest';
import { subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import type { World } from './world.ts';

/** Retries and breakers wait for an hour: only Send now lets anything go. */
const HOUR = 3_600;

/** An incident behind a circuit breaker, until it is over. */
export function breakerTests(get: () => World): void {
  it('a breaker that opens is marked in the chart; Send now from its failures delivers, and the mark says when it closed', async () => {
    const { page, go, app } = get();
    const project = await app.newProject({
      strategy: { type: 'linear', duration: HOUR, retry_count: 5 },
      circuit_breaker: {
        sample_rate: 1,
        error_timeout: HOUR,
        minimum_request_count: 4,
        success_threshold: 1,
      },
    });
    const receiver = await Receiver.start();
    receiver.answerAlways(500);
    const { endpoint } = await subscribe(project, receiver.url, {
      endpoint: { name: 'Shop', owner_id: 'customer-7' },
    });
    const send = () => project.post('/events/broadcast', { event_type: 'order', data: {} });
    for (let n = 0; n < 4; n++) await send();
    await eventually(() => project.get(`/endpoints/${endpoint.uid}`), { cb_state: 'open' });
    await go('overview', project.projectId);
    const chart = page.getByRole('figure');
    const marks = page.getByRole('list', { name: 'Circuit breakers' });
    await marks.getByText(/circuit breaker opened .*, still open/).waitFor();
    await chart.getByRole('img', { name: /Shop: circuit breaker opened$/ }).waitFor();
    const named = chart.getByText('Shop: circuit breaker opened');
    expect(await named.count()).toBe(0);
    await marks.getByRole('link', { name: 'Shop' }).focus();
    await named.waitFor();

    await go(`endpoints/${endpoint.uid}`, project.projectId);
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page
      .getByText(/^The test went through the circuit breaker\. It neither opens nor closes it/)
      .waitFor();

    receiver.answerAlways(200);
    await go('failures', project.projectId);
    await page.getByRole('button', { name: 'Send 4 now: Shop, http_500' }).click();
    await page.getByText('4 of 4 done').waitFor();
    await page.getByRole('link', { name: 'customer-7' }).first().waitFor();
    await receiver.received(8);
    await go(`endpoints/${endpoint.uid}`, project.projectId);
    await marks.getByText(/^Circuit breaker opened/).waitFor();
    await marks.getByText(/^Circuit breaker closed/).waitFor();

    // A delivery that waits is sent from its own page, and not while its endpoint is paused.
    receiver.answerAlways(500);
    await send();
    const { content } = await eventually(() => project.get('/eventdeliveries?status=Retry'), {
      content: { length: 1 },
    });
    receiver.answerAlways(200);
    await project.put(`/endpoints/${endpoint.uid}/pause`);
    await go(`deliveries/${content[0].uid}`, project.projectId);
    await page.getByText('Held: the endpoint is paused.').first().waitFor();
    const sendNow = page.getByRole('button', { name: 'Send now' });
    expect(await sendNow.count()).toBe(0);
    await project.put(`/endpoints/${endpoint.uid}/pause`);
    await sendNow.click();
    await page.getByText(/^Delivered .* after it was due, at attempt 2\.$/).waitFor();
    await receiver.received(10);
    await receiver.stop();
  });

  it('several groups of failures are sent now together, and nothing of others', async () => {
    const { page, go, app } = get();
    const project = await app.newProject({ strategy: { type: 'linear', duration: HOUR, retry_count: 5 } });
    const receiver = await Receiver.start();
    receiver.answerAlways(({ path }, response) => {
      response.writeHead(path === '/b' ? 503 : 500).end();
    });
    for (const name of ['a', 'b', 'c'])
      await subscribe(project, `${receiver.url}/${name}`, { endpoint: { name }, eventTypes: [name] });
    for (const type of ['a', 'a', 'b', 'c'])
      await project.post('/events/broadcast', { event_type: type, data: {} });
    await eventually(() => project.get('/failures'), { groups: { length: 3 } });
    receiver.answerAlways(200);
    await go('failures', project.projectId);
    for (const name of ['a, http_500', 'b, http_503'])
      await page.getByRole('checkbox', { name: `Choose ${name}` }).check();
    await page.getByText('2 groups chosen').waitFor();
    await page.getByRole('button', { name: 'Send 3 deliveries now' }).click();
    await page.waitForURL(/\/jobs$/);
    await receiver.received(7);
    const { content } = await eventually(() => project.get('/eventdeliveries?status=Success'), {
      content: { length: 3 },
    });
    expect(content.map(({ event_type }: Json) => event_type).toSorted()).toEqual(['a', 'a', 'b']);
    await receiver.stop();
  });

  it('an endpoint that was mended says so, in the same words on the overview, in the list and on its page', async () => {
    const { page, go, app } = get();
    const project = await app.newProject();
    const url = 'http://127.0.0.1:9/';
    const { uid } = await project.post('/endpoints', { name: 'Mended', url });
    await project.put(`/endpoints/${(await project.post('/endpoints', { name: 'Off', url })).uid}/pause`);
    const past = (minutesAgo: number, attempts: number, failed: number) =>
      app.database.query(
        `insert into recent_counts (project_id, endpoint_id, minute, attempts, failed_attempts, delivered)
         values ($1, $2, date_trunc('minute', now()) - $3 * interval '1 minute', $4::int, $5::int, $4::int - $5::int)`,
        [project.projectId, uid, minutesAgo, attempts, failed],
      );
    await past(9, 5, 5);
    await past(3, 1_302, 0);
    const recovered = /Recovered\s+[34] min ago, 1,302 sent since/;
    await go('overview', project.projectId);
    await page.getByText('2 endpoints, none in trouble.').waitFor();
    const row = page.getByRole('list', { name: 'Recovered endpoints' }).getByRole('listitem');
    expect(await row.textContent()).toMatch(recovered);
    await page.getByText('1 paused, 1 recovered of 2 endpoints').waitFor();
    await go('endpoints', project.projectId);
    const listed = page.locator('[data-row]');
    await listed.filter({ hasText: recovered }).getByText('Mended').waitFor();
    await listed.filter({ hasText: 'Off' }).getByText('Paused', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Mended' }).click();
    await page.getByRole('main').getByText('1,302 sent since').first().waitFor();
  });
}
