/** A URL with a further query behind its own. */
export function withQuery(url: string, query: string | null): string {
  if (query === null || query === '' || url === '') return url;
  const parsed = new URL(url);
  parsed.search = parsed.search === '' ? query : `${parsed.search.slice(1)}&${query}`;
  return parsed.href;
}
