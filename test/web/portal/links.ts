import { describe, expect, it } from 'vitest';
import { PORTAL_PAGES } from '../../../bench/portal-requests.ts';
import { ApiClient } from '../../support/client.ts';
import { goTo, type PortalWorld } from './world.ts';

/** A call without its times, and with its parameters in order. */
function asKey(call: string): string {
  const [path = '', query = ''] = call.split('?');
  const parameters = query.split('&').map((one) => one.replace(/^(\w+Date)=.*/, '$1'));
  return `${path}?${parameters.toSorted().join('&')}`;
}

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

    it('that may look and retry shows no other act and no secret', async () => {
      const { visit, link, seed } = get();
      const { url } = await link({ owner_id: 'customer-7' });
      const { page, wrongs, close } = await visit(url);
      await page.getByRole('link', { name: 'Billing' }).click();
      await page.getByText('Latest deliveries').waitFor();
      await page.getByText('invoice.*').first().waitFor();
      for (const name of ['Edit…', 'Delete…', 'Pause', 'Roll secret…', 'Show', 'Change…', 'Add endpoint'])
        expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
      expect(await page.content()).not.toContain(seed.endpoints.billing.secrets[0].value);
      await page.getByRole('button', { name: 'Send a test event' }).click();
      await page.getByText('200 OK').first().waitFor();
      expect(wrongs).toEqual([]);
      await close();
    });

    it('that may only look shows no act at all, and what each further right allows appears with it', async () => {
      const { visit, link, seed } = get();
      const { uid, secrets } = seed.endpoints.broken;
      const again = /^Retry \d+ failed deliver/;
      const acts = ['Send a test event', again, 'Edit…', 'Roll secret…', 'Show', 'Add function…'] as const;
      const look = { owner_id: 'customer-9', can_retry: false };
      const cases: [rights: object, acts: (typeof acts)[number][]][] = [
        [look, []],
        [{ ...look, can_retry: true }, ['Send a test event', again]],
        [{ ...look, can_see_secrets: true }, ['Show']],
        [{ ...look, can_manage_endpoint: true, can_see_secrets: false }, ['Edit…', 'Add function…']],
        [
          { ...look, can_manage_endpoint: true, can_edit_functions: false },
          ['Edit…', 'Roll secret…', 'Show'],
        ],
      ];
      const { page, wrongs, close } = await visit((await link(look)).url);
      for (const [rights, allowed] of cases) {
        const { url } = await link(rights);
        // Another link in the same tab.
        const read = page.waitForResponse((response) => response.url().endsWith('/portal_link'));
        await page.goto(url);
        await read;
        await goTo(page, `#/endpoints/${uid}`);
        await page.getByText('This endpoint is failing').waitFor();
        for (const name of allowed) await page.getByRole('button', { name, exact: true }).waitFor();
        for (const name of acts.filter((one) => !allowed.includes(one)))
          expect([rights, name, await page.getByRole('button', { name, exact: true }).count()]).toEqual([
            rights,
            name,
            0,
          ]);
        expect((await page.content()).includes(secrets[0].value)).toBe(false);
        await goTo(page, '#/deliveries?state=Failure');
        await page.getByRole('link', { name: 'payment.failed' }).first().click();
        await page.getByText('database is down, ticket 4711').first().waitFor();
        const retries = await page.getByRole('button', { name: 'Retry', exact: true }).count();
        expect([rights, retries]).toEqual([rights, allowed.includes('Send a test event') ? 1 : 0]);
      }
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
        [`#/deliveries/${myDelivery}`, 'Attempt 1'],
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
      const known = new Set(
        [...asked].map((call) =>
          asKey(call.replaceAll(mine, '{endpoint}').replaceAll(myDelivery, '{delivery}')),
        ),
      );
      const measured = PORTAL_PAGES.flat().map(([path]) => asKey(`GET /portal-api${path}`));
      expect(measured.filter((call) => !known.has(call))).toEqual([]);
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
