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
  const answers = answersOf(operation);
  // The last is that of the plain call. A dry run answers 200.
  const usual = answers.at(-1);
  return html`<section id="${id}">
<h3><a href="#${id}">${summary}</a></h3>
<p class="route"><b class="method ${method.toLowerCase()}">${method}</b> <code>${path}</code></p>
${description === undefined ? '' : html`<p>${description}</p>`}
<div class="columns"><div>
${parameterTable(parameters.filter((one) => one.in === 'query'))}
${body === undefined ? '' : html`<h4>Body</h4>${schemaTable(document, resolved(document, body))}`}
${answers.map((answer) => answerPart(document, answer))}
</div><div>
<pre><code>${curlOf(document, route)}</code></pre>
${usual === undefined ? '' : html`<pre><code>${JSON.stringify(exampleOf(document, usual.schema), null, 2)}</code></pre>`}
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

function answersOf({ responses }: Operation): { status: string; schema: Schema }[] {
  return Object.entries(responses).flatMap(([status, response]) => {
    const schema = jsonSchema(response);
    return status.startsWith('2') && schema !== undefined ? [{ status, schema }] : [];
  });
}

function answerPart(document: OpenApiDocument, answer: { status: string; schema: Schema }): Html {
  const data = resolved(document, answer.schema).properties?.['data'] ?? {};
  const table = data.properties === undefined ? '' : schemaTable(document, data);
  return html`<h4>Answer ${answer.status}</h4><p><code>data</code>: ${typeText(data)}</p>${table}`;
}
