/**
 * Finds a text among the values of a JSON document, without a path. A text matches strings that contain it, and numbers
 * and words that are it. The bytes are searched first: few documents contain the text, and only those are parsed.
 */
export function valueFinder(text: string): (json: Buffer) => { path: string; value: string } | null {
  const escaped = Buffer.from(JSON.stringify(text).slice(1, -1));
  return (json) => {
    // A document may write any character as \u1234, so such a document is always parsed.
    if (!json.includes(escaped) && !json.includes('\\u')) return null;
    let document: unknown;
    try {
      document = JSON.parse(json.toString());
    } catch {
      // Not JSON after all: it has no values.
      return null;
    }
    return find(document, text);
  };
}

/** Shown of a longer value. */
const MAX_SHOWN = 200;

interface Place {
  value: unknown;
  path: string;
}

/** In the order of the document. A list of places and no recursion: documents may be nested deeply. */
function find(document: unknown, text: string): { path: string; value: string } | null {
  const open: Place[] = [{ value: document, path: '' }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value, path } = place;
    if (typeof value !== 'object' || value === null) {
      const shown = String(value);
      if (typeof value === 'string' ? shown.includes(text) : shown === text)
        return { path: path.slice(0, MAX_SHOWN), value: around(shown, text) };
      continue;
    }
    const children = Object.entries(value).map(([name, child]) => ({
      value: child as unknown,
      path: path === '' ? name : `${path}.${name}`,
    }));
    for (const child of children.toReversed()) open.push(child);
  }
  return null;
}

/** The part of a long value with the text in it. */
export function around(value: string, text: string): string {
  if (value.length <= MAX_SHOWN) return value;
  const from = Math.max(0, value.indexOf(text) - MAX_SHOWN / 2);
  return value.slice(from, from + MAX_SHOWN);
}
