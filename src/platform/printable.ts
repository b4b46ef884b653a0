import { stripVTControlCharacters } from 'node:util';

/** Text of strangers, for people: no character of it may control the terminal. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, ' ');
}

/**
 * Makes JSON, YAML and TypeScript printable, without a change of the values. Their writers put control characters between
 * double quotes, and leave those from U+007F on as they are. Line feeds and tabs stay.
 */
export function escapeControls(text: string): string {
  return text.replaceAll(
    /[^\P{Cc}\n\t]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
