import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Rules that colours can break. A change of the scheme changes nothing else. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
const ALL = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** The violations of WCAG 2.2 AA that axe finds. The policy of the page allows no script of others, so axe comes by the debugger. */
export async function violations(
  page: Page,
  checks: 'all' | 'colours' = 'all',
  part = 'html',
): Promise<string[]> {
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(axe.source);
  const runOnly = checks === 'all' ? ALL : { type: 'rule', values: OF_COLOURS };
  const options = { runOnly, rules: { region: { enabled: false } }, resultTypes: ['violations'] };
  // The page answers with sentences. Every element that passed, as JSON, took node 0.8 s of CPU on a page with a list.
  return page.evaluate(`axe
    .run(${JSON.stringify(part)}, ${JSON.stringify(options)})
    .then((found) => found.violations.map(({ id, nodes: [{ html, failureSummary }] }) => id + ': ' + html + ' ' + failureSummary))`);
}
