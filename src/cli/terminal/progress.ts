import { note } from './output.ts';
import { terminal } from './terminal.ts';

const WIDTH = 30;

/** Only on a terminal: a log would have a line for each step. */
export function showProgress({ done, total }: { done: number; total: number | null }): void {
  const { stderr } = terminal();
  if (stderr.isTTY) stderr.write(`\r${progressBar(done, total)}`);
}

/** A line next to the bar. The bar is drawn again under it with the next step. */
export function noteInProgress(text: string): void {
  if (terminal().stderr.isTTY) terminal().stderr.write('\r\u001b[K');
  note(text);
}

export function endProgress(): void {
  if (terminal().stderr.isTTY) note('');
}

export function progressBar(done: number, total: number | null): string {
  if (total === null) return `${done} done`;
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * WIDTH);
  return `[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${Math.floor(share * 100)}% ${done}/${total}`;
}
