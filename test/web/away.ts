import { describe, expect, it } from 'vitest';
import { Relay } from '../support/servers/relay.ts';
import { violations } from './axe.ts';
import { fresh, goTo, type World } from './world.ts';

const BAR = /^No answer since \d\d:\d\d:\d\d/;

/** The page of a service that is away. */
export function awayTests(get: () => World): void {
  describe('while the service is away', () => {
    it('the page says since when, marks its figures, turns acts off, and goes on by itself', async () => {
      const { app, seed } = get();
      const relay = await Relay.start(Number(new URL(app.url).port));
      const origin = `http://127.0.0.1:${relay.port}`;
      const { page, wrongs, close } = await fresh(get(), origin);
      const at = (path: string) => `${origin}/p/${app.projectId}/${path}`;
      await page.addInitScript((key) => sessionStorage.setItem('posthorn.key', key), app.instance.key);
      await page.goto(at(`endpoints/${seed.endpoints.billing.uid}`));
      await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
      await goTo(page, at('overview'));
      const figures = page.getByRole('list', { name: 'Open deliveries' });
      await figures.waitFor();

      relay.freeze();
      const bar = page.getByText(BAR);
      await bar.waitFor();
      const old = await figures.getByRole('listitem').first().innerText();
      expect(old).toMatch(/as of \d\d:\d\d:\d\d/);
      expect(await violations(page)).toEqual([]);
      await goTo(page, at(`endpoints/${seed.endpoints.billing.uid}`));
      const pause = page.getByRole('button', { name: 'Pause', exact: true });
      expect(await pause.isDisabled()).toBe(true);
      expect(await pause.getAttribute('title')).toMatch(/Actions are off/);

      // A page that was never opened is one of ours too.
      relay.cut();
      await page.evaluate(`history.pushState({}, '', ${JSON.stringify(at('customers'))})`);
      await page.getByText('This page is not loaded yet').waitFor();
      expect(await violations(page)).toEqual([]);
      relay.mend();
      relay.thaw();
      await page.getByRole('heading', { name: 'Customers' }).waitFor();
      expect(await bar.count()).toBe(0);
      expect(wrongs).toEqual([]);
      await close();
      relay.close();
    });
  });
}
