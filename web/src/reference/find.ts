/** An item of /docs/search.json. */
export interface Item {
  title: string;
  /** The method of an operation, or `schema`. */
  kind: string;
  /** The path of an operation, or the description of a schema. */
  detail: string;
  /** Further text to find it by. */
  words: string;
  href: string;
}

const MOST = 20;

/** The items that have every word of the text, those with the words in their title first. */
export function find(items: readonly Item[], text: string): Item[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return items
    .map((item) => ({ item, rank: rankOf(item, words) }))
    .filter(({ rank }) => rank < Infinity)
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map(({ item }) => item);
}

/** The lower, the better. Infinity: a word is missing. Operations come before schemas, and whole names before both. */
function rankOf({ title, kind, detail, words }: Item, wanted: readonly string[]): number {
  const [name, path, rest] = [title, detail, words].map((text) => text.toLowerCase()) as [
    string,
    string,
    string,
  ];
  const rank = (word: string): number => {
    if (name.startsWith(word)) return 0;
    if (name.includes(` ${word}`) || rest.startsWith(word)) return 1;
    if (name.includes(word)) return 2;
    if (path.includes(word)) return 3;
    return rest.includes(word) ? 4 : Infinity;
  };
  const sum = wanted.reduce((total, word) => total + rank(word), kind === 'schema' ? 1.5 : 0);
  const text = wanted.join(' ');
  return text === name || rest.startsWith(`${text} `) ? sum - 3 : sum;
}
