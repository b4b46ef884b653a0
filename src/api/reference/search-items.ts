import type { SiteMap } from './site-map.ts';

/** An item of the search, which web/src/reference reads. */
export interface SearchItem {
  title: string;
  /** The method of an operation, or `schema`. */
  kind: string;
  /** The path of an operation, or the description of a schema. */
  detail: string;
  /** Further text to find it by. */
  words: string;
  href: string;
}

export function searchItems({ document, resources, schemaLinks }: SiteMap): SearchItem[] {
  const operations = resources.flatMap(({ routes }) =>
    routes.map(({ title, method, path, operation, href }) => ({
      title,
      kind: method,
      detail: path,
      words: `${operation.operationId} ${operation.summary ?? ''}`,
      href,
    })),
  );
  const schemas = [...schemaLinks].map(([name, href]) => ({
    title: name,
    kind: 'schema',
    detail: document.components?.schemas?.[name]?.description ?? '',
    words: '',
    href,
  }));
  return [...operations, ...schemas];
}
