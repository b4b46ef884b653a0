import { resolved } from './document.ts';
import { fieldList } from './field-list.ts';
import { type Html, html, prose } from './html.ts';
import { methodOf, operationSection } from './operation-section.ts';
import type { Page } from './page-frame.ts';
import { PORTAL, type Resource, type Route, type SiteMap } from './site-map.ts';

/** The operations of a resource, and the schemas that are described here. */
export function resourcePage(site: SiteMap, resource: Resource): Page {
  const { name, slug, routes, schemas } = resource;
  const repeated = name === PORTAL ? repeatedIn(site, routes) : new Map<Route, Route>();
  const own = routes.filter((route) => !repeated.has(route));
  const main = html`<h1>${name}</h1>
<p class="quiet">The examples use shell variables. <a href="/docs#examples">Set them first.</a></p>
${repeated.size === 0 ? '' : portalList(repeated)}
${own.map((route) => operationSection(site, route))}
${schemas.length === 0 ? '' : html`<h2 id="schemas">Schemas</h2>${schemas.map((schema) => schemaSection(site, schema))}`}`;
  return { title: name, slug, main };
}

export function schemaSection({ document, schemaLinks, inputs }: SiteMap, name: string): Html {
  const schema = resolved(document, { $ref: `#/components/schemas/${name}` });
  return html`<section id="schema-${name}" class="schema"><h3><a href="#schema-${name}">${name}</a></h3>
${schema.description === undefined ? '' : html`<p>${prose(schema.description)}</p>`}
${fieldList(schemaLinks, schema, inputs.has(name) ? 'request' : 'response')}</section>`;
}

/** Operations of portal tokens, each with the operation that it repeats. */
function repeatedIn({ resources }: SiteMap, routes: Route[]): Map<Route, Route> {
  const all = new Map(
    resources.flatMap((one) => one.routes).map((route) => [route.operation.operationId, route] as const),
  );
  const pairs = routes.flatMap((route): [Route, Route][] => {
    const original = all.get(route.operation.operationId.replace(/InPortal$/, ''));
    return original === undefined || original === route ? [] : [[route, original]];
  });
  return new Map(pairs);
}

function portalList(repeated: ReadonlyMap<Route, Route>): Html {
  return html`<p>The token of a portal link calls these paths. Each does what the operation that it links to does, for the endpoints of the link. <code>$portal_token</code> is the <code>token</code> or <code>auth_key</code> of a portal link.</p>
<ul class="operations">${[...repeated].map(([route, { title, href }]) => html`<li id="${route.operation.operationId}"><a href="${href}">${methodOf(route.method)} ${title}</a> <code>${route.path}</code></li>`)}</ul>`;
}
