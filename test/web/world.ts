import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startTestApp, type TestApp } from '../support/app.ts';
import { launch, watchedPage } from './browser.ts';
import { buildPages } from './build-pages.ts';
import { type Seed, seed } from './seed.ts';

/** One server, one browser, one project with traffic and one without, for every test of the pages. */
export interface World {
  app: TestApp;
  seed: Seed;
  browser: Browser;
  context: BrowserContext;
  page: Page;
  /** What went wrong in the browser since it was last emptied. */
  wrongs: string[];
  /** The id of a project without anything in it. */
  emptyProject: string;
  /** Opens a page of the project with traffic. */
  open(path: string, project?: string): Promise<void>;
  stop(): Promise<void>;
}

export async function makeWorld(): Promise<World> {
  await buildPages();
  const app = await startTestApp();
  const seeded = await seed(app.project);
  const empty = await app.newProject();
  const browser = await launch();
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
  });
  await context.addInitScript((key) => sessionStorage.setItem('posthorn.key', key), app.instance.key);
  const { page, wrongs } = await watchedPage(context, app.url);
  // A crowded machine fails no test.
  page.setDefaultTimeout(60_000);
  return {
    app,
    seed: seeded,
    browser,
    context,
    page,
    wrongs,
    emptyProject: empty.projectId,
    open: async (path, project = app.projectId) => void (await page.goto(`${app.url}/p/${project}/${path}`)),
    stop: async () => {
      await browser.close();
      await seeded.stop();
      await app.stop();
    },
  };
}

/** A page without a key or a session, as a visitor has it. It may ask only the node at `url`. */
export async function fresh(
  { browser, app }: World,
  url = app.url,
): Promise<{ page: Page; wrongs: string[]; close(): Promise<void> }> {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  const { page, wrongs } = await watchedPage(context, url);
  page.setDefaultTimeout(60_000);
  return { page, wrongs, close: () => context.close() };
}
