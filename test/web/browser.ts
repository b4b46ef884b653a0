import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { chromiumPath } from '../support/suite/parts.ts';

/** Each page is new to V8, and gone before optimised code pays: a fifth of the CPU time of the pages was spent on making it. */
const NO_OPTIMISING = '--js-flags=--no-opt,--no-maglev';

export function launch(): Promise<Browser> {
  if (chromiumPath === null) throw new Error('this machine has no Chromium');
  return chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--disable-dev-shm-usage', NO_OPTIMISING],
  });
}

/** A page that keeps what must not happen: errors in the console, faults, and requests to other hosts. */
export async function watchedPage(
  context: BrowserContext,
  origin: string,
): Promise<{ page: Page; wrongs: string[] }> {
  const page = await context.newPage();
  const wrongs: string[] = [];
  page.on('console', (message) => {
    // Chromium reports each answer of 4xx by itself. The page shows those in words.
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (['error', 'warning'].includes(message.type()) && !isAnswer) wrongs.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => wrongs.push(`fault: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
      wrongs.push(`asked ${request.url()}`);
  });
  return { page, wrongs };
}
