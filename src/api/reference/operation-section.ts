import { curlOf, type Route } from './curl.ts';
import {
  jsonSchema,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  resolved,
  type Schema,
} from './document.ts';
import { exampleOf } from './example.ts';
import { type Html, html } from './html.ts';
import { schemaTable, typeText } from './schema-table.ts';

/** One operation: its request, an example to copy, and its response. */
export function operationSection(document: OpenApiDocument, route: Route): Html {
  const { method, path, operation } = route;
  const { operationId: id, summary = '', description, parameters = [] } = operation;
  const body = jsonSchema(operation.requestBody);
  const answer = answerOf(operation);
  return html`<section id="${id}">
<h3><a href="#${id}">${summary}</a></h3>
<p class="route"><b class="method ${method.toLowerCase()}">${method}</b> <code>${path}</code></p>
${description === undefined ? '' : html`<p>${description}</p>`}
<div class="columns"><div>
${parameterTable(parameters.filter((one) => one.in === 'query'))}
${body === undefined ? '' : html`<h4>Body</h4>${schemaTable(document, resolved(document, body))}`}
${answer === undefined ? '' : answerPart(document, answer)}
</div><div>
<pre><code>${curlOf(document, route)}</code></pre>
${answer === undefined ? '' : html`<pre><code>${JSON.stringify(exampleOf(document, answer.schema), null, 2)}</code></pre>`}
</div></div>
</section>`;
}

function parameterTable(parameters: Parameter[]): Html | string {
  if (parameters.length === 0) return '';
  const rows = parameters.map(
    ({ name, schema, description = schema.description ?? '' }) =>
      html`<tr><td><code>${name}</code></td><td>${typeText(schema)}</td><td>${description}</td></tr>`,
  );
  return html`<h4>Query</h4><table>${rows}</table>`;
}

function answerOf(operation: Operation): { status: string; schema: Schema } | undefined {
  const status = Object.keys(operation.responses).find((name) => name.startsWith('2'));
  const schema = status === undefined ? undefined : jsonSchema(operation.responses[status]);
  return status === undefined || schema === undefined ? undefined : { status, schema };
}

function answerPart(document: OpenApiDocument, answer: { status: string; schema: Schema }): Html {
  const data = resolved(document, answer.schema).properties?.['data'] ?? {};
  const table = data.properties === undefined ? '' : schemaTable(document, data);
  return html`<h4>Answer ${answer.status}</h4><p><code>data</code>: ${typeText(data)}</p>${table}`;
}
