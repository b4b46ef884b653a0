import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Rules that colours can break. A change of the scheme changes nothing else. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
const ALL = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds against WCAG 2.2 AA. The policy of the page allows no script of others, so axe comes by the debugger. */
export async function violations(
  page: Page,
  checks: 'all' | 'colours' = 'all',
  part = 'html',
): Promise<string[]> {
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(axe.source);
  const runOnly = checks === 'all' ? ALL : { type: 'rule', values: OF_COLOURS };
  const options = { runOnly, rules: { region: { enabled: false } } };
  const found = (await page.evaluate(`axe.run(${JSON.stringify(part)}, ${JSON.stringify(options)})`)) as {
    violations: Violation[];
  };
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}
