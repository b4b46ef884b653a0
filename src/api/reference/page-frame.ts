import { type Html, html } from './html.ts';
import { methodOf } from './operation-section.ts';
import type { Resource, SiteMap } from './site-map.ts';

export interface Page {
  title: string;
  main: Html;
  /** The slug of the resource, or empty on the start page. */
  slug?: string;
}

const HORN = html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d="M2 10h4a3 3 0 1 0-3-3 3 3 0 0 0 3 3h4l4 3V4l-4 3H8"/></svg>`;

/**
 * The document around a page. `script` is the address of web/src/reference, which makes the search and the buttons that
 * copy. It is undefined if the pages are not built, and the reference is whole without it.
 */
export function pageFrame(site: SiteMap, page: Page, script: string | undefined): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · Posthorn API</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/reference.css">
${script === undefined ? '' : html`<script type="module" blocking="render" src="${script}"></script>`}
</head>
<body>
<a class="skip" href="#main">Skip to the page</a>
<header>
<button type="button" class="menu" popovertarget="menu">Menu</button>
<a class="home" href="/docs">${HORN} Posthorn API</a>
<form role="search" hidden>
<input type="search" role="combobox" aria-label="Search operations and schemas" aria-keyshortcuts="/ Control+K Meta+K" aria-autocomplete="list" aria-expanded="false" aria-controls="results" autocomplete="off" spellcheck="false" placeholder="Search operations and schemas">
<kbd aria-hidden="true">/</kbd>
<div class="found" hidden><ul id="results" role="listbox" aria-label="Results"></ul><p hidden>No operation or schema has these words.</p></div>
</form>
<a class="dashboard" href="/">Dashboard</a>
</header>
<p role="status" class="unseen"></p>
${menu(site, page)}
<main id="main" tabindex="-1">
${page.main}
</main>
</body>
</html>
`.text;
}

function menu({ resources }: SiteMap, { slug }: Page): Html {
  const items = resources.map((resource) => {
    const isHere = resource.slug === slug;
    const link = html`<a href="/docs/${resource.slug}"${isHere ? html` aria-current="page"` : ''}>${resource.name}</a>`;
    return html`<li>${link}${isHere ? operationLinks(resource) : ''}</li>`;
  });
  return html`<nav id="menu" popover aria-label="Reference"><ul>
<li><a href="/docs"${slug === '' ? html` aria-current="page"` : ''}>Start</a></li>
${items}
</ul><p><a href="/">To the dashboard</a> <a href="/openapi.json">openapi.json</a></p></nav>`;
}

function operationLinks({ routes }: Resource): Html {
  const items = routes.map(
    ({ method, operation, title }) =>
      html`<li><a href="#${operation.operationId}">${methodOf(method)} ${title.replace(/ in portal$/, '')}</a></li>`,
  );
  return html`<ul>${items}</ul>`;
}
