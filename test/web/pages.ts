import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { containing, eventually, some } from '../support/eventually.ts';
import { violations } from './axe.ts';
import { expectAllInSight } from './out-of-sight.ts';
import { fresh, goTo, type World } from './world.ts';

/** Each page: its address, a heading, and what shows that its data has come. */
const PAGES: [path: string, shows: RegExp][] = [
  ['overview', /Endpoints in trouble/],
  ['failures', /The endpoint answered 500/],
  ['events', /newsletter\.opened/],
  ['deliveries', /payment\.failed/],
  ['jobs', /Retry|No jobs yet/],
  ['endpoints', /Paused warehouse/],
  ['subscriptions', /Billing: invoice/],
  ['sources', /GitHub of the shop/],
  ['event-types', /invoice\.paid/],
  ['portal-links', /customer-7/],
  ['portal-page', /Origins that may embed it/],
  ['meta-events', /No meta events yet/],
  ['audit', /endpoint\.created/],
  ['keys', /default key/],
  ['settings', /Backoff/],
  ['customers', /customer-9/],
  ['customers/customer-9', /Broken receiver/],
];

const EMPTY: [path: string, says: RegExp][] = [
  ['overview', /Send a first event/],
  ['failures', /No failures/],
  ['events', /No events yet/],
  ['deliveries', /No deliveries yet/],
  ['jobs', /No jobs yet/],
  ['endpoints', /No endpoints yet/],
  ['subscriptions', /No subscriptions yet/],
  ['sources', /No sources yet/],
  ['event-types', /No event types yet/],
  ['portal-links', /No portal links yet/],
  ['devices', /No device listens/],
];

export function pageTests(get: () => World): void {
  it.each(PAGES)(
    '%s shows its rows, without violations of WCAG 2.2 AA in light and dark, and fits a phone',
    async (path, shows) => {
      const { page, go } = get();
      await go(path);
      await page.getByText(shows).first().waitFor();
      expect(await violations(page)).toEqual([]);
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await violations(page, 'colours')).toEqual([]);
      await page.emulateMedia({ colorScheme: 'light' });
      for (const width of [390, 360]) {
        await page.setViewportSize({ width, height: 740 });
        await page.getByText(shows).first().waitFor();
        await expectAllInSight(page);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
    },
  );

  it.each([
    ['projects', /outgoing/],
    ['nodes', /Alive/],
    ['audit', /endpoint\.created/],
    ['settings', /POSTHORN_PORT/],
  ])('%s of the instance shows its rows, on a desk and on a phone', async (path, shows) => {
    const world = get();
    await goTo(world.page, `${world.app.url}/instance/${path}`);
    for (const size of [
      { width: 360, height: 740 },
      { width: 1440, height: 900 },
    ]) {
      await world.page.setViewportSize(size);
      await world.page.getByText(shows).first().waitFor();
      await expectAllInSight(world.page);
    }
    expect(await violations(world.page)).toEqual([]);
  });

  it.each(EMPTY)('%s of an empty project says so, and how to fill it', async (path, says) => {
    const world = get();
    await world.go(path, world.emptyProject);
    await world.page.locator('main').getByText(says).first().waitFor();
    expect(await violations(world.page)).toEqual([]);
    await world.page.setViewportSize({ width: 360, height: 740 });
    await expectAllInSight(world.page);
    await world.page.setViewportSize({ width: 1440, height: 900 });
  });

  it.each(['deliveries', 'endpoints', 'subscriptions', 'sources', 'events', 'audit'])(
    'a row of %s opens beside the list, by the keyboard alone',
    async (path) => {
      const world = get();
      await world.go(path);
      const first = world.page.locator('[data-row="0"] a').first();
      await first.focus();
      await world.page.keyboard.press('ArrowDown');
      await world.page.keyboard.press('ArrowUp');
      await world.page.keyboard.press('Enter');
      await world.page.getByRole('heading', { level: 1 }).nth(1).waitFor();
      await world.page
        .getByText(/Loading/)
        .first()
        .waitFor({ state: 'detached' });
      expect(await violations(world.page)).toEqual([]);
      await world.page.goBack();
      await first.waitFor();
    },
  );

  it('a source and an endpoint show the numbers of their last 24 h, each with its unit', async () => {
    const { page, open, seed } = get();
    // Nodes store the counts of events every 2 s.
    await open(`sources/${seed.source.uid}`);
    const figure = (name: string) =>
      page.getByRole('list', { name: 'Statistics' }).locator('li', { hasText: name });
    await figure('Accepted, about').getByText('1', { exact: true }).waitFor();
    expect(await figure('Accepted, about').textContent()).toBe('Accepted, about1events');
    expect(await figure('p50 latency').textContent()).toBe('p50 latency–nothing delivered');
    await page.getByRole('img', { name: 'Attempts per hour' }).waitFor();
    await page.getByRole('link', { name: 'Show the events' }).click();
    await page.waitForURL(/events\?source=/);
    await page.locator('[data-row="0"]').getByText('GitHub of the shop').waitFor();
    await page.getByLabel('Source', { exact: true }).selectOption('Any source');
    await page.waitForURL((url) => !url.search.includes('source'));
    await open(`endpoints/${seed.endpoints.billing.uid}`);
    await figure('Delivered').getByText('13', { exact: true }).waitFor();
    await figure('p50 latency').getByText('with retries').waitFor();
  });

  it('the window is named after its page: a list, and the row that is open', async () => {
    const { page, open, seed } = get();
    await open(`endpoints/${seed.endpoints.billing.uid}`);
    const named = (title: string) => eventually(() => page.title(), `${title} · Posthorn`);
    await named('Billing');
    await page.getByRole('link', { name: 'Endpoints' }).last().click();
    await named('Endpoints');
  });

  it('the pages have a typeface of ours, four sizes and two weights of it, and selects of ours', async () => {
    const { page, open } = get();
    await open('deliveries');
    await page.locator('[data-row="0"]').waitFor();
    await eventually(() => loadedFaces(page), some(containing('Inter')));
    const used = (property: string): Promise<string[]> =>
      page.evaluate(
        `[...new Set([...document.querySelectorAll('#root *')].map((one) => getComputedStyle(one)['${property}']))]`,
      );
    // The root has the size of the browser.
    expect((await used('fontSize')).filter((size) => size !== '16px').length).toBeLessThanOrEqual(4);
    expect((await used('fontWeight')).toSorted()).toEqual(['400', '600']);
    expect(await page.evaluate(`getComputedStyle(document.querySelector('main select')).appearance`)).toBe(
      'base-select',
    );
  });

  it('the gallery of parts is in no build', async () => {
    const { app } = get();
    const builds = globSync(join(import.meta.dirname, '../../web/dist/.vite/*.json')).map((file) =>
      readFileSync(file, 'utf8'),
    );
    expect(builds.filter((text) => text.includes('index.html') || text.includes('portal.html'))).toHaveLength(
      2,
    );
    expect(builds.filter((text) => text.includes('gallery'))).toEqual([]);
    expect((await fetch(`${app.url}/gallery.html`)).status).toBe(404);
  });

  it('a project that is not there is said in words', async () => {
    const world = get();
    await world.open('events', '01K00000000000000000000000');
    await world.page.getByRole('alert').getByText('Not found').waitFor();
  });

  it.each(['', '/endpoints', '/portal', '/nonsense'])(
    'the reference at /docs%s has no violations of WCAG 2.2 AA in light and dark, and fits a phone',
    async (path) => {
      const { page, wrongs, close } = await fresh(get());
      await page.goto(`${get().app.url}/docs${path}`);
      expect(await violations(page)).toEqual([]);
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await violations(page, 'colours')).toEqual([]);
      await page.setViewportSize({ width: 390, height: 740 });
      await expectAllInSight(page);
      const menu = page.getByRole('navigation', { name: 'Reference' });
      expect(await menu.isVisible()).toBe(false);
      await page.getByRole('button', { name: 'Menu' }).click();
      expect(await violations(page)).toEqual([]);
      await menu.getByRole('link', { name: 'Event types', exact: true }).click();
      await page.getByRole('heading', { name: 'Event types', level: 1 }).waitFor();
      expect(await menu.isVisible()).toBe(false);
      expect(wrongs).toEqual([]);
      await close();
    },
  );

  it('the reference follows the theme that was chosen in the dashboard, in its typeface', async () => {
    const { page, close } = await fresh(get());
    await page.goto(`${get().app.url}/docs`);
    await page.evaluate(`localStorage.setItem('posthorn.theme', 'dark')`);
    await page.reload();
    expect(await page.evaluate(`getComputedStyle(document.body).backgroundColor`)).toBe('rgb(16, 18, 20)');
    await eventually(() => loadedFaces(page), some(containing('Inter')));
    await close();
  });
}

const loadedFaces = (page: Page): Promise<string[]> =>
  page.evaluate(
    `[...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family)`,
  );
