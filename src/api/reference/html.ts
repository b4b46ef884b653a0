/** Escaped HTML text. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | readonly Html[];

/** Builds HTML from a template. Strings are escaped; `Html` is inserted unchanged. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  const text = strings.reduce((done, string, i) => {
    const part = parts[i - 1];
    return done + (part === undefined ? '' : escaped(part)) + string;
  });
  return new Html(text);
}

function escaped(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return String(part).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
