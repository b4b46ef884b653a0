/** Whether a key is text of a field. Fields of the code editor are in a shadow root, which hides them from `target`. */
export function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  return target instanceof Element && target.closest('input, textarea, [contenteditable="true"]') !== null;
}

/** Whether it is Ctrl or Cmd with a letter. With Caps Lock the letter is upper case. */
export const isCommand = (
  { key, ctrlKey, metaKey, shiftKey, altKey }: KeyboardEvent,
  letter: string,
): boolean => key.toLowerCase() === letter && (ctrlKey || metaKey) && !shiftKey && !altKey;

/** Whether it is a key alone, outside of fields and open dialogs. */
export const isAlone = (event: KeyboardEvent): boolean =>
  !event.ctrlKey &&
  !event.metaKey &&
  !event.altKey &&
  !isTyping(event) &&
  document.querySelector('dialog:modal') === null;
