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

/** Sentences of the OpenAPI document, in which backquotes mark code. */
export function prose(text: string): Html[] {
  return text.split('`').map((part, i) => (i % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}

/** A block of code. Quotes stay as they are: escaped, they were a fifth of a page. */
export function codeBlock(text: string): Html {
  // It may scroll, so the keyboard must reach it.
  return html`<pre tabindex="0"><code>${new Html(text.replaceAll(/[&<>]/g, reference))}</code></pre>`;
}

function escaped(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return String(part).replaceAll(/[&<>"']/g, reference);
}

const reference = (character: string): string => `&#${character.charCodeAt(0)};`;
