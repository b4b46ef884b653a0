import { copyText } from '../ui/text/clipboard.ts';

const SHOWN_MS = 1500;

/** A button on each block of code that copies it. */
export function addCopyButtons(say: (text: string) => void): void {
  for (const block of document.querySelectorAll('pre')) {
    const button = document.createElement('button');
    button.type = 'button';
    const label = (text: string) => button.replaceChildren(text);
    const copy = async () => {
      const isCopied = await copyText(block.querySelector('code')?.textContent ?? '');
      const result = isCopied ? 'Copied' : 'Not copied';
      label(result);
      say(result);
      setTimeout(() => {
        label('Copy');
        say('');
      }, SHOWN_MS);
    };
    label('Copy');
    button.addEventListener('click', () => void copy());
    block.prepend(button);
  }
}
