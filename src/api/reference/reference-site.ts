import type { OpenApiDocument } from './document.ts';
import { html } from './html.ts';
import { type Page, pageFrame } from './page-frame.ts';
import { resourcePage } from './resource-page.ts';
import { type SiteMap, siteMapOf } from './site-map.ts';
import { startPage } from './start-page.ts';

/** The pages of the API reference: a start page and one for each resource. Each is made once and kept. */
export class ReferenceSite {
  readonly #map: SiteMap;
  readonly #script: string | undefined;
  readonly #kept = new Map<string, string>();
  /** The items of the search, as JSON. */
  readonly search: string;

  constructor(document: OpenApiDocument, script?: string) {
    this.#map = siteMapOf(document);
    this.#script = script;
    this.search = JSON.stringify(searchItems(this.#map));
  }

  /** The last parts of the addresses. The start page has none. */
  get slugs(): string[] {
    return ['', ...this.#map.resources.map(({ slug }) => slug)];
  }

  /** Undefined: there is no such page. */
  page(slug: string): string | undefined {
    const kept = this.#kept.get(slug);
    if (kept !== undefined) return kept;
    const page = this.#make(slug);
    if (page === undefined) return undefined;
    const text = pageFrame(this.#map, page, this.#script);
    this.#kept.set(slug, text);
    return text;
  }

  get missing(): string {
    const main = html`<h1>There is no such page</h1>
<p>The menu has a page for every resource. <a href="/docs">The start page</a> lists all operations.</p>`;
    return pageFrame(this.#map, { title: 'Not found', main }, this.#script);
  }

  #make(slug: string): Page | undefined {
    if (slug === '') return startPage(this.#map);
    const resource = this.#map.resources.find((one) => one.slug === slug);
    return resource === undefined ? undefined : resourcePage(this.#map, resource);
  }
}

/** An item of the search, which web/src/reference reads. */
interface SearchItem {
  title: string;
  /** The method of an operation, or `schema`. */
  kind: string;
  /** The path of an operation, or the description of a schema. */
  detail: string;
  /** Further text to find it by. */
  words: string;
  href: string;
}

function searchItems({ document, resources, schemaLinks }: SiteMap): SearchItem[] {
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
