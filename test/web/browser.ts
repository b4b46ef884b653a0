import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** The shell is Chromium without the windows. Its browser process takes half the CPU time: 15 s in the tests of the dashboard. */
const PLACES = [
  process.env['CHROMIUM_PATH'] ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** A real Chromium. Null: this machine has none. The whole suite does not pass without one. */
export const chromiumPath: string | null = PLACES.find((path) => path !== '' && existsSync(path)) ?? null;

export const NO_CHROMIUM =
  'no Chromium: install it (Debian: apt-get install chromium-headless-shell) or set CHROMIUM_PATH';

export const isWholeSuite = process.env['WHOLE_SUITE'] === '1';

/** Each page is new to V8, and gone before optimised code pays: a fifth of the CPU time of the pages was spent on making it. */
const NO_OPTIMISING = '--js-flags=--no-opt,--no-maglev';

export function launch(): Promise<Browser> {
  if (chromiumPath === null) throw new Error(NO_CHROMIUM);
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
