import { RECEIVER_URL } from '../../domain/delivery.ts';
import type { Route } from './curl.ts';
import type { OpenApiDocument } from './document.ts';
import { type Html, html } from './html.ts';
import { operationSection } from './operation-section.ts';
import { schemaTable } from './schema-table.ts';

/** Operations that repeat others under the path of portal tokens. The page lists them together. */
const PORTAL = 'Portal';

/** The reference page of the API: plain HTML without a script. `url` is the address of the service. */
export function referencePage(document: OpenApiDocument, url: string): string {
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = Map.groupBy(routes, ({ operation }) => operation.tags?.[0] ?? 'Other');
  const portal = groups.get(PORTAL) ?? [];
  groups.delete(PORTAL);
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title} API</title>
<link rel="stylesheet" href="/docs/reference.css">
</head>
<body>
${navigation(groups)}
<main>
<h1>${document.info.title} API</h1>
<p>${document.info.description ?? ''}</p>
${introduction(url)}
${[...groups].map(([tag, group]) => html`<h2 id="${anchor(tag)}">${tag}</h2>${group.map((route) => operationSection(document, route))}`)}
${portalSection(portal)}
${schemas(document)}
</main>
</body>
</html>
`.text;
}

const anchor = (tag: string) => `tag-${tag.toLowerCase().replaceAll(/\W+/g, '-')}`;

function navigation(groups: Map<string, Route[]>): Html {
  const parts = [...groups].map(
    ([tag, group]) => html`<details open><summary><a href="#${anchor(tag)}">${tag}</a></summary><ul>
${group.map(({ method, operation }) => html`<li><a href="#${operation.operationId}"><b class="method ${method.toLowerCase()}">${method}</b> ${operation.summary ?? ''}</a></li>`)}
</ul></details>`,
  );
  return html`<nav aria-label="Operations"><p><a href="#start">Posthorn API</a></p>${parts}
<p><a href="#portal">Portal tokens</a></p><p><a href="#schemas">Schemas</a></p><p><a href="/openapi.json">openapi.json</a></p></nav>`;
}

function introduction(url: string): Html {
  return html`<section id="start">
<p>Every example below runs in a shell, in the folder where Posthorn was started, after these lines:</p>
<pre><code>url=${url}
key=$(node -p "require('./.posthorn/credentials.json').api_key")
instance_key=$(node -p "require('./.posthorn/credentials.json').instance_key")
project=$(node -p "require('./.posthorn/credentials.json').project_id")
api=$url/api/v1/projects/$project</code></pre>
<p>A variable such as <code>$endpoint_id</code> is an id of yours. Create the resource, and take the <code>uid</code> of the answer or of the list:</p>
<pre><code>endpoint_id=$(curl -s "$api/endpoints" -H "Authorization: $key" |
  node -p "JSON.parse(require('fs').readFileSync(0)).data.content[0].uid")</code></pre>
<p>The examples send to <code>${RECEIVER_URL}</code>, which is the built-in receiver.</p>
<ul>
<li><b>Authentication.</b> Send an API key in the header <code>Authorization</code>, bare or as <code>Bearer &lt;key&gt;</code>. The instance key is for operations of the whole instance. People sign in, and send the cookie of their session.</li>
<li><b>Answers.</b> Every answer is <code>{"status", "message", "data"}</code>. A refusal has <code>"status": false</code> and a stable <code>code</code>.</li>
<li><b>Lists.</b> A list puts its items in <code>data.content</code> and its cursors in <code>data.pagination</code>. Pass <code>next_page_cursor</code> to get the next page.</li>
<li><b>Updates.</b> A field that a PUT does not name keeps its value.</li>
<li><b>Null.</b> In a body, a field without a star may be null. Unless its description says otherwise, it then counts as absent.</li>
</ul>
</section>`;
}

function portalSection(routes: Route[]): Html {
  const rows = routes.map(
    ({ method, path, operation }) =>
      html`<tr><td><b class="method ${method.toLowerCase()}">${method}</b></td><td><code>${path}</code></td><td>${operation.summary ?? ''}</td></tr>`,
  );
  return html`<h2 id="portal">Portal tokens</h2>
<p>The token of a portal link calls these paths. Each does what the operation of the same name does, for the endpoints of the link.</p>
<table>${rows}</table>`;
}

function schemas(document: OpenApiDocument): Html {
  const named = Object.entries(document.components?.schemas ?? {});
  return html`<h2 id="schemas">Schemas</h2>
${named.map(([name, schema]) => html`<section id="schema-${name}"><h3>${name}</h3><p>${schema.description ?? ''}</p>${schemaTable(document, schema)}</section>`)}`;
}
