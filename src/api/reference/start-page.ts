import { RECEIVER_URL } from '../../domain/delivery.ts';
import { errorTable } from '../../domain/errors.ts';
import { ADDRESS } from './address.ts';
import { codeBlock, type Html, html, prose } from './html.ts';
import { methodOf } from './operation-section.ts';
import type { Page } from './page-frame.ts';
import { schemaSection } from './resource-page.ts';
import { PORTAL, type Resource, type SiteMap } from './site-map.ts';

const VARIABLES = `key=$(node -p "require('./.posthorn/credentials.json').api_key")
instance_key=$(node -p "require('./.posthorn/credentials.json').instance_key")
project=$(node -p "require('./.posthorn/credentials.json').project_id")`;

const TAKE_ID = `endpoint_id=$(curl -s "${ADDRESS}/api/v1/projects/$project/endpoints" -H "Authorization: $key" |
  node -p "JSON.parse(require('fs').readFileSync(0)).data.content[0].uid")`;

const NEXT_PAGE = `curl -s "${ADDRESS}/api/v1/projects/$project/endpoints?perPage=50&next_page_cursor=$endpoint_id" \\
  -H "Authorization: $key"`;

/** The common rules of all operations, and the list of them. */
export function startPage(site: SiteMap): Page {
  const { title, description = '' } = site.document.info;
  const main = html`<h1>${title} API</h1>
${description.split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
<section id="start"><h2>Base URL</h2>
<p>All paths begin with <code id="address">${ADDRESS}</code>. Requests and responses are JSON in UTF-8. <a href="/openapi.json">openapi.json</a> describes the same operations for generators of clients.</p></section>
${examples()}
${rules(site)}
<section id="operations"><h2>Operations</h2>
${site.resources.map(resourceList)}</section>`;
  return { title: 'Start', slug: '', main };
}

function examples(): Html {
  return html`<section id="examples"><h2>Examples</h2>
<p>Every example runs in a shell, in the folder where Posthorn was started, after these lines:</p>
${codeBlock(VARIABLES)}
<p>A variable such as <code>$endpoint_id</code> is an id of yours. Create the resource, and take the <code>uid</code> of the response or of the list:</p>
${codeBlock(TAKE_ID)}
<p>The examples send to <code>${RECEIVER_URL}</code>, which is the built-in receiver.</p></section>`;
}

function rules(site: SiteMap): Html {
  const codes = Object.entries(errorTable).map(
    ([code, { status, message }]) =>
      html`<li><code>${code}</code> <span class="type">${status}</span><p>${message}</p></li>`,
  );
  return html`<section id="authentication"><h2>Authentication</h2>
<p>Send an API key in the header <code>Authorization</code>, bare or as <code>Bearer &lt;key&gt;</code>. The instance key is for operations of the whole instance. People <a href="/docs/sign-in">sign in</a>, and send the cookie of their session; the examples keep it in <code>session.txt</code>. The token of a portal link calls <a href="/docs/portal">/portal-api</a>.</p></section>
<section id="responses"><h2>Responses</h2>
<p>Every response is <code>{"status", "message", "data"}</code>. It has <code>warnings</code> if something in the request had no effect.</p>
${schemaSection(site, 'Warnings')}</section>
<section id="errors"><h2>Errors</h2>
<p>A refusal has <code>"status": false</code>, a <code>message</code> for people and a stable <code>code</code> for programs. After 429 and 503 wait for the seconds of <code>Retry-After</code>.</p>
${codeBlock(JSON.stringify({ status: false, message: errorTable.key_rejected.message, code: 'key_rejected' }, null, 2))}
<details id="codes"><summary>All ${codes.length} codes</summary><ul class="fields">${codes}</ul></details>
${schemaSection(site, 'Refusal')}</section>
<section id="lists"><h2>Lists</h2>
<p>A list puts its items in <code>data.content</code> and its cursors in <code>data.pagination</code>. Pass <code>next_page_cursor</code> to get the next page:</p>
${codeBlock(NEXT_PAGE)}
${schemaSection(site, 'Pagination')}</section>
<section id="updates"><h2>Updates</h2>
<p>A field that a PUT does not name keeps its value. In a body, a field that is not required may be null. Unless its description says otherwise, it then counts as absent.</p></section>`;
}

/** Its items have the ids of the operations, because links to the one page of earlier versions end in them. */
function resourceList({ name, slug, routes }: Resource): Html {
  const heading = html`<h3 id="tag-${slug}"><a href="/docs/${slug}">${name}</a></h3>`;
  if (name === PORTAL)
    return html`${heading}<p>${routes.length} operations for the token of a portal link. Most repeat others.</p>`;
  const items = routes.map(
    ({ method, path, operation, title, href }) =>
      html`<li id="${operation.operationId}"><a href="${href}">${methodOf(method)} ${title}</a> <code>${path}</code></li>`,
  );
  return html`${heading}<ul class="operations">${items}</ul>`;
}
