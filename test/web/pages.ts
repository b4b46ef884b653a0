import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import type { World } from './world.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** What axe finds against WCAG 2.2 AA. The policy of the page allows no script of others, so axe comes by the debugger. */
async function violations({ page }: World): Promise<string[]> {
  await page.evaluate(axe);
  const found = (await page.evaluate(`axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    rules: { region: { enabled: false } },
  })`)) as { violations: Violation[] };
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}

/** Each page: its address, a heading, and what shows that its data has come. */
const PAGES: [path: string, shows: RegExp][] = [
  ['overview', /Endpoints in trouble/],
  ['events', /newsletter\.opened/],
  ['deliveries', /payment\.failed/],
  ['endpoints', /Paused warehouse/],
];

export function pageTests(get: () => World): void {
  describe.each(PAGES)('%s', (path, shows) => {
    it('shows its rows, without violations of WCAG 2.2 AA in light and dark', async () => {
      const world = get();
      for (const colorScheme of ['light', 'dark'] as const) {
        await world.page.emulateMedia({ colorScheme });
        await world.open(path);
        await world.page.getByText(shows).first().waitFor();
        expect(await violations(world)).toEqual([]);
      }
      await world.page.emulateMedia({ colorScheme: 'light' });
    });

    it('says in an empty project how to fill it', async () => {
      const world = get();
      await world.open(path, world.emptyProject);
      await world.page.locator('main').getByText(/yet|Every endpoint takes/).first().waitFor();
    });

    it('fits a phone without scrolling sideways', async () => {
      const world = get();
      await world.page.setViewportSize({ width: 360, height: 740 });
      await world.open(path);
      await world.page.getByText(shows).first().waitFor();
      const wide = await world.page.evaluate('document.documentElement.scrollWidth');
      await world.page.setViewportSize({ width: 1440, height: 900 });
      expect(wide).toBe(360);
    });
  });

  it('a project that is not there is said in words', async () => {
    const world = get();
    await world.open('events', '01K00000000000000000000000');
    await world.page.getByRole('alert').getByText('Not found').waitFor();
  });
}
