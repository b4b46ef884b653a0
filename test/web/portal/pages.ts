import { describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { violations } from '../axe.ts';
import { expectAllInSight } from '../out-of-sight.ts';
import { goTo, type PortalWorld } from './world.ts';

export function portalPageTests(get: () => PortalWorld): void {
  describe('its pages', () => {
    /** Each page, and what shows that its data has come. */
    const pages = ({ seed, deliveryId }: { seed: PortalWorld['seed']; deliveryId: string }) =>
      [
        ['#/endpoints', 'Broken receiver'],
        [`#/endpoints/${seed.endpoints.broken.uid}`, 'This endpoint is failing'],
        ['#/deliveries', 'payment.failed'],
        [`#/deliveries/${deliveryId}`, 'database is down, ticket 4711'],
        ['#/types', 'An invoice was not paid in time.'],
        ['#/numbers', /Nothing was sent on 1[23] days/],
        ['#/verify', 'Send both'],
      ] as const;

    /** Each dialog, and the button that opens it. */
    const dialogs = ({ endpoints }: PortalWorld['seed']) => {
      const one = `#/endpoints/${endpoints.broken.uid}`;
      return [
        ['#/endpoints', 'Add endpoint'],
        [one, 'Edit…'],
        [one, 'Delete…'],
        [one, 'Roll secret…'],
        [one, 'Change…'],
        [one, 'Add function…'],
      ] as const;
    };

    const failedDelivery = async ({ app, seed }: PortalWorld): Promise<string> => {
      const list = await app.project.get(`/eventdeliveries?eventId=${seed.failedEvent.uid}`);
      return list.content[0].uid as string;
    };

    it.each([
      ['de-DE', 'Endpunkte', 'de'],
      ['fr-FR', 'Livraisons', 'fr'],
      ['es-ES', 'Entregas', 'es'],
      ['fi-FI', 'Endpoints', 'en'],
    ])('speak the language of a browser for %s', async (language, word, lang) => {
      const world = get();
      const { url } = await world.link({ owner_id: 'customer-7' });
      const { page, wrongs, close } = await world.visit(url, { language });
      await page.getByRole('link', { name: word, exact: true }).waitFor();
      expect(await page.evaluate('document.documentElement.lang')).toBe(lang);
      expect(await violations(page)).toEqual([]);
      expect(wrongs).toEqual([]);
      await close();
    });

    // proves Projects: portal.title, portal.logo_url, portal.logo_url_dark, portal.font, portal.accent
    // proves Projects: portal.radius, portal.color_scheme, portal.language
    it('have the title, logo, font, colours, corners and language of the project of the address', async () => {
      const world = get();
      const project = await world.app.newProject({
        portal: {
          title: 'Acme & Söhne <b>',
          logo_url: `${world.app.url}/favicon.svg`,
          logo_url_dark: `${world.app.url}/favicon.svg?dark`,
          font: 'Inter, serif',
          accent: '#3b5bdb',
          radius: 12,
          color_scheme: 'dark',
          language: 'de',
        },
      });
      await project.post('/endpoints', { name: 'Kasse', url: 'http://127.0.0.1:9/', owner_id: 'acme' });
      const { url } = await project.post('/portal-links', { name: 'acme', owner_id: 'acme' });
      const { page, wrongs, close } = await world.visit(url);
      await page.getByRole('heading', { name: 'Acme & Söhne <b>' }).waitFor();
      await page.getByRole('link', { name: 'Kasse' }).waitFor();
      await page.getByRole('link', { name: 'Zustellungen' }).waitFor();
      expect(await page.title()).toBe('Endpunkte · Acme & Söhne <b>');
      expect(await page.locator('link[rel=icon]').getAttribute('href')).toMatch(/^\/assets\/icon-.*\.svg$/);
      expect(await page.locator('header img').getAttribute('src')).toBe(`${world.app.url}/favicon.svg?dark`);
      const style = (name: string) =>
        page.evaluate(`getComputedStyle(document.documentElement).getPropertyValue('${name}')`);
      expect(await style('--radius-md')).toBe('12px');
      expect(await style('--color-accent')).toContain('#3b5bdb');
      expect(await style('color-scheme')).toBe('dark');
      expect(await style('font-family')).toMatch(/^"?Inter"?, serif, /);
      expect(await violations(page)).toEqual([]);
      // The host page may choose where it opens, and leave out the tabs.
      await page.goto(url.replace('#', '&page=verify&nav=none#'));
      await page.getByText('Prüfen Sie jede Anfrage').waitFor();
      expect(await page.getByRole('navigation').count()).toBe(0);
      expect(wrongs).toEqual([]);
      await close();
    });

    it('have tabs in one line that scrolls on a phone, and a title each', async () => {
      const world = get();
      const { url } = await world.link({ owner_id: 'customer-7' });
      const { page, wrongs, close } = await world.visit(url, { width: 320, language: 'fr-FR' });
      const last = page.getByRole('link', { name: 'Vérifier' });
      await last.waitFor();
      const tabs = page.getByRole('navigation');
      const heights = await Promise.all(
        [tabs, last].map(async (one) => (await one.boundingBox())?.height ?? 0),
      );
      expect(heights[0]).toBeLessThan(2 * (heights[1] ?? 0));
      await goTo(page, '#/verify');
      await page.locator('[aria-current=page]', { hasText: 'Vérifier' }).waitFor();
      const { x = -1, width = 999 } = (await last.boundingBox()) ?? {};
      expect(x + width).toBeLessThanOrEqual(320);
      await eventually(() => page.title(), 'Vérifier · Webhooks');
      // The first is in sight again when its page is.
      await goTo(page, '#/endpoints');
      const first = page.getByRole('link', { name: 'Endpoints', exact: true });
      await page.locator('[aria-current=page]', { hasText: 'Endpoints' }).waitFor();
      expect((await first.boundingBox())?.x).toBeGreaterThanOrEqual(0);
      expect(wrongs).toEqual([]);
      await close();
    });

    // After the others: the node stores its counts every 10 s, and until then no endpoint is known to fail.
    it.each([
      ['light', false, 1280],
      ['dark', true, 1280],
      ['light on a phone', false, 360],
    ] as const)(
      'show their data without violations of WCAG 2.2 AA and without scrolling sideways, %s',
      async (_name, dark, width) => {
        const world = get();
        const checks = dark ? 'colours' : 'all';
        const { url } = await world.link({ owner_id: 'customer-9', can_manage_endpoint: true });
        const deliveryId = await failedDelivery(world);
        const { page, wrongs, close } = await world.visit(url, { dark, width });
        for (const [place, shows] of pages({ seed: world.seed, deliveryId })) {
          await goTo(page, place);
          await page.getByText(shows).first().waitFor();
          expect([place, await violations(page, checks)]).toEqual([place, []]);
          await expectAllInSight(page);
        }
        for (const [place, button] of dialogs(world.seed)) {
          await goTo(page, place);
          await page.getByRole('button', { name: button, exact: true }).click();
          const dialog = page.getByRole('dialog');
          await dialog.waitFor();
          expect([button, await violations(page, checks, 'dialog')]).toEqual([button, []]);
          const { x = -1, width: wide = 0 } = (await dialog.boundingBox()) ?? {};
          expect([button, x >= 0 && x + wide <= width]).toEqual([button, true]);
          const hidden = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('dialog'))`;
          expect([button, await page.evaluate(hidden)]).toEqual([button, 0]);
          await page.keyboard.press('Escape');
          await dialog.waitFor({ state: 'detached' });
        }
        expect(wrongs).toEqual([]);
        await close();
      },
    );
  });
}
