import { describe, expect, it } from 'vitest';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import type { PortalWorld, Visit } from './world.ts';

export function portalEmbedTests(get: () => PortalWorld): void {
  describe('embedded in a page of another site', () => {
    const allow = ({ app, hostOrigin }: PortalWorld, origins = [hostOrigin]) =>
      app.instance.put(`/projects/${app.projectId}`, { config: { portal: { frame_origins: origins } } });

    /** The page of the host: it embeds the link and gives a token once, and then as often as it is asked. */
    const hostPage = ({ app }: PortalWorld, link: Json, options = ''): string => `<!doctype html>
      <title>Host</title><h1>Host</h1><div id="portal"></div><div style="height:1500px"></div>
      <script src="${app.url}/portal/embed.js"></script>
      <script>
        window.given = 0;
        posthornPortal(document.getElementById('portal'), { url: ${JSON.stringify(link.url)}, ${options} });
      </script>`;

    const open = async (world: PortalWorld, html: string): Promise<Visit> => {
      world.serve(html);
      const visit = await world.visit(world.hostOrigin);
      // The frame is of another host, as it should be.
      visit.wrongs.splice(0);
      return visit;
    };

    it('shows, grows with its content, takes the theme of the host and keeps dialogs in sight', async () => {
      const world = get();
      await allow(world);
      const link = await world.link({ owner_id: 'customer-9', can_manage_endpoint: true });
      const theme = `theme: { accent: '#aa0055', radius: 0, color_scheme: 'dark', language: 'fr' }`;
      const { page, close } = await open(world, hostPage(world, link, theme));
      const frame = page.frameLocator('iframe');
      await frame.getByRole('link', { name: 'Endpoints' }).waitFor();
      await frame.getByRole('link', { name: 'Livraisons' }).click();
      await frame.getByText('payment.failed').first().waitFor();
      await frame.getByRole('link', { name: 'payment.failed' }).first().click();
      await frame.getByText('database is down, ticket 4711').first().waitFor();
      await page.waitForFunction('document.querySelector("iframe").clientHeight > 700');
      expect(await frame.locator('html').getAttribute('data-theme')).toBe('dark');
      const fonts = `document.fonts.ready.then((all) => [...all].some(({ status }) => status === 'loaded'))`;
      expect(await frame.locator('html').evaluate(fonts)).toBe(true);
      await frame.getByRole('link', { name: 'Endpoints' }).click();
      await frame.getByRole('link', { name: 'Broken receiver' }).click();
      await frame.getByRole('button', { name: 'Modifier…' }).first().click();
      await eventually(
        async () => ({
          box: await frame.getByRole('dialog').boundingBox(),
          scrolled: (await page.evaluate('scrollY')) as number,
        }),
        ({ box, scrolled }) => box !== null && box.y >= 0 && box.y + box.height <= 800 + scrolled,
      );
      expect(await page.context().cookies()).toEqual([]);
      await close();
    });

    it('asks the host for a fresh token when its own has ended, and goes on', async () => {
      const world = get();
      await allow(world);
      const link = await world.link({ owner_id: 'customer-9', auth_type: 'refresh_token' });
      const fresh = await world.app.project.get(`/portal-links/${link.uid}/refresh_token`);
      const token = `token: async () => { window.given += 1; return ${JSON.stringify(fresh)}; }`;
      const { page, close } = await open(world, hostPage(world, link, token));
      const frame = page.frameLocator('iframe');
      await frame.getByRole('link', { name: 'Broken receiver' }).waitFor();
      expect(await page.evaluate('window.given')).toBe(0);
      await world.app.database.query(
        `delete from portal_tokens t where portal_link_id = $1
           and expires_at < (select max(expires_at) from portal_tokens where portal_link_id = $1)`,
        [link.uid],
      );
      const old = new ApiClient(`${world.app.url}/portal-api`, link.auth_key);
      await eventually(async () => (await old.raw('GET', '/portal_link')).status, 401);
      await frame.getByRole('link', { name: 'Deliveries' }).click();
      await page.waitForFunction('window.given > 0');
      await frame.getByText('payment.failed').first().waitFor();
      await close();
    });

    it('is refused where the project does not allow it, and where the address names no project', async () => {
      const world = get();
      const link = await world.link({ owner_id: 'customer-9' });
      const bare = { ...link, url: link.url.replace(/\?project=[^#]+/, '') };
      for (const [origins, shown] of [
        [['https://other.example'], link],
        [[], link],
        [[world.hostOrigin], bare],
      ] as const) {
        await allow(world, [...origins]);
        const { page, close } = await open(world, hostPage(world, shown));
        // The browser shows an error in the place of a page that it may not embed.
        await eventually(
          async () => page.frames().map((one) => one.url()),
          (urls) => urls.some((one) => one.startsWith('chrome-error:')),
        );
        await close();
      }
    });
  });
}
