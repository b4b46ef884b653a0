import { curlOf } from './curl.ts';
import { isNothing, jsonSchema, type Operation, type Parameter, resolved, type Schema } from './document.ts';
import { responseExample } from './example.ts';
import { fieldItem, fieldList, typeText } from './field-list.ts';
import { codeBlock, type Html, html, prose } from './html.ts';
import type { Route, SiteMap } from './site-map.ts';

/** One operation: its request, an example to copy, and its response. */
export function operationSection(site: SiteMap, route: Route): Html {
  const { title, operation } = route;
  const { operationId: id, summary = '', parameters = [] } = operation;
  const responses = responsesOf(operation);
  // The last is that of the plain call. A dry run answers 200.
  const usual = responses.at(-1);
  return html`<section id="${id}" class="operation">
<h2><a href="#${id}">${title}</a></h2>
${routeLine(route)}
<p>${prose(summary)}</p>
<div class="columns"><div>
<p class="access">Needs ${accessOf(operation)}.${operation['x-acts'] === true ? ' Refuses unknown parameters and fields.' : ''}</p>
${parameterList(
  site,
  'Query',
  parameters.filter((one) => one.in === 'query'),
)}
${parameterList(
  site,
  'Headers',
  parameters.filter((one) => one.in === 'header'),
)}
${bodyPart(site, operation)}
${responses.map((response) => responsePart(site, response))}
</div><div class="examples">
${codeBlock(curlOf(site.document, route))}
${usual === undefined ? '' : codeBlock(JSON.stringify(responseExample(site.document, id, usual.schema), null, 2))}
</div></div>
</section>`;
}

export function routeLine({ method, path }: Route): Html {
  return html`<p class="route">${methodOf(method)} <code>${path}</code></p>`;
}

export function methodOf(method: string): Html {
  return html`<b class="method ${method.toLowerCase()}">${method}</b>`;
}

const ACCESS: Readonly<Record<string, string>> = {
  any: 'an API key or a session',
  instance: 'the instance key',
  session: 'a session of a person',
  public: 'no key',
};

const accessOf = ({ 'x-access': access = 'any' }: Operation): string =>
  ACCESS[access] ?? `the role ${access}`;

function parameterList({ schemaLinks }: SiteMap, title: string, parameters: Parameter[]): Html {
  if (parameters.length === 0) return html``;
  const items = parameters.map(({ name, schema, required, description = schema.description ?? '' }) =>
    fieldItem(
      html`<code>${name}</code> <span class="type">${typeText(schemaLinks, schema)}</span>${required === true ? html` <b>required</b>` : ''}`,
      prose(description),
    ),
  );
  return html`<h3>${title}</h3><ul class="fields">${items}</ul>`;
}

function bodyPart({ document, schemaLinks }: SiteMap, { operationId, requestBody }: Operation): Html {
  const body = jsonSchema(requestBody);
  if (body === undefined) return html``;
  return html`<h3 id="${operationId}-body">Body</h3>${fieldList(schemaLinks, resolved(document, body), 'request')}`;
}

interface Response {
  status: string;
  schema: Schema;
}

function responsesOf({ responses }: Operation): Response[] {
  return Object.entries(responses).flatMap(([status, response]) => {
    const schema = jsonSchema(response);
    return status.startsWith('2') && schema !== undefined ? [{ status, schema }] : [];
  });
}

function responsePart({ document, schemaLinks }: SiteMap, { status, schema }: Response): Html {
  const data = resolved(document, schema).properties?.['data'] ?? {};
  const fields = data.properties === undefined ? '' : fieldList(schemaLinks, data, 'response');
  const type = isNothing(data) ? html`always null` : typeText(schemaLinks, data);
  return html`<h3>Response ${status}</h3><p><code>data</code>: ${type}</p>${fields}`;
}
