import { describe, expect, it } from 'vitest';
import { ApiClient } from '../support/client.ts';
import { goTo, type PortalWorld } from './portal-world.ts';

export function portalLinkTests(get: () => PortalWorld): void {
  describe('a link', () => {
    it('leaves the address at once and is stored nowhere', async () => {
      const { visit, link } = get();
      const { url, token } = await link({ owner_id: 'customer-7' });
      const { page, wrongs, close } = await visit(url);
      await page.getByRole('link', { name: 'Billing' }).waitFor();
      expect(page.url()).not.toContain(token);
      const stored = await page.evaluate(
        'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, history.state])',
      );
      expect(stored).toBe('["",{},{},null]');
      expect(await page.context().cookies()).toEqual([]);
      await page.reload();
      await page.getByText('Open your link again').waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('that may only look shows no act and no secret', async () => {
      const { visit, link, seed } = get();
      const { url } = await link({ owner_id: 'customer-7' });
      const { page, wrongs, close } = await visit(url);
      await page.getByRole('link', { name: 'Billing' }).click();
      await page.getByText('Latest deliveries').waitFor();
      await page.getByText('invoice.*').first().waitFor();
      for (const name of ['Edit…', 'Delete…', 'Pause', 'Roll…', 'Show', 'Change…', 'Add endpoint'])
        expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
      expect(await page.content()).not.toContain(seed.endpoints.billing.secrets[0].value);
      await page.getByRole('button', { name: 'Send a test event' }).click();
      await page.getByText('200 OK').first().waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('that is revoked in use, has expired or belongs to another project says so', async () => {
      const { visit, link, app } = get();
      const revoked = await link({ owner_id: 'customer-7' });
      const { page, wrongs, close } = await visit(revoked.url);
      await page.getByRole('link', { name: 'Billing' }).waitFor();
      await app.project.put(`/portal-links/${revoked.uid}/revoke`, undefined, 200);
      await page.getByRole('link', { name: 'Deliveries' }).click();
      await page.getByText('This link no longer works').waitFor();
      expect(await page.getByRole('navigation').count()).toBe(0);

      const expired = await link({ owner_id: 'customer-7' });
      await app.database.query(
        `update portal_links set expires_at = now() - interval '1 hour' where id = $1`,
        [expired.uid],
      );
      // Another link in the same tab.
      await page.goto(expired.url);
      await page.getByText('This link no longer works').waitFor();

      const other = await app.newProject();
      const mine = await link({ owner_id: 'customer-7' });
      await page.goto(mine.url.replace(app.projectId, other.projectId));
      await page.getByText('This link belongs to another page').waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('shows nothing of another customer: every request of the page with the ids of the other is refused', async () => {
      const { visit, link, app, seed } = get();
      const { url, token } = await link({ owner_id: 'customer-7', can_manage_endpoint: true });
      const { page, close } = await visit(url);
      const asked = new Set<string>();
      page.on('request', (request) => {
        const { pathname, search } = new URL(request.url());
        if (pathname.startsWith('/portal-api/')) asked.add(`${request.method()} ${pathname}${search}`);
      });
      const mine = seed.endpoints.billing.uid as string;
      const delivery = async (endpoint: string): Promise<string> =>
        (await app.project.get(`/eventdeliveries?endpointId=${endpoint}&perPage=1`)).content[0].uid;
      const myDelivery = await delivery(mine);
      const visits: [string, string][] = [
        ['#/deliveries', 'invoice.paid'],
        [`#/deliveries?endpoint=${mine}`, 'invoice.paid'],
        ['#/deliveries?state=Failure', 'No deliver'],
        [`#/deliveries/${myDelivery}`, 'Try 1'],
        [`#/endpoints/${mine}`, 'Latest deliveries'],
        ['#/types', 'invoice.paid'],
        ['#/numbers', 'Last 14 days'],
        ['#/verify', 'Send both'],
        ['#/endpoints', 'Billing'],
      ];
      for (const [hash, shows] of visits) {
        await goTo(page, hash);
        await page.getByText(shows).first().waitFor();
        expect(await page.content()).not.toContain('Broken receiver');
      }
      await close();
      const others = {
        [mine]: seed.endpoints.broken.uid as string,
        [myDelivery]: await delivery(seed.endpoints.broken.uid),
      };
      const theirs = [...Object.values(others), 'customer-9', 'Broken receiver', 'pay_4242'];
      const withToken = new ApiClient(app.url, token);
      expect(asked.size).toBeGreaterThan(12);
      for (const call of asked) {
        const [method = '', path = ''] = call.split(' ');
        const changed = Object.entries(others).reduce(
          (all, [own, other]) => all.replaceAll(own, other),
          path,
        );
        const response = await withToken.raw(method, changed, {});
        const text = await response.text();
        const named = new URL(changed, app.url).pathname !== new URL(path, app.url).pathname;
        if (named) expect([changed, response.status]).toEqual([changed, 404]);
        const foreign = theirs.filter((word) => text.replaceAll(changed, '').includes(word));
        if (!named) expect([changed, foreign]).toEqual([changed, []]);
      }
    });
  });
}
