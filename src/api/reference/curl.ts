import { jsonSchema, type OpenApiDocument, type Operation, resolved, type Schema } from './document.ts';
import { exampleOf } from './example.ts';

/** A curl command to copy. It uses the shell variables of the page's introduction. */
export function curlOf(
  document: OpenApiDocument,
  method: string,
  path: string,
  operation: Operation,
): string {
  const address = path
    .replace('/api/v1/projects/{projectID}', '$api')
    .replace(/^\/(?=\w)/, '$url/')
    .replaceAll(/\{(\w+?)(ID)?\}/g, (_whole, name: string) => `$${name.toLowerCase()}`);
  const verb = method === 'GET' || method === 'POST' ? '' : ` -X ${method}`;
  const lines = [`curl -s${verb} "${address}"`, `-H "Authorization: $key"`];
  const schema = jsonSchema(operation.requestBody);
  if (schema !== undefined) {
    const text = JSON.stringify(requestExample(document, schema), null, 2).replaceAll("'", String.raw`'\''`);
    lines.push(`-H 'Content-Type: application/json'`, `-d '${text}'`);
  } else if (method === 'POST') lines[0] = `curl -s -X POST "${address}"`;
  return lines.join(' \\\n  ');
}

/** The required fields, or the first few if none is required: enough for a first call. */
function requestExample(document: OpenApiDocument, schema: Schema): unknown {
  const known = resolved(document, schema);
  const { properties, required = [] } = known;
  if (properties === undefined) return exampleOf(document, schema);
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 3);
  return Object.fromEntries(names.map((name) => [name, exampleOf(document, properties[name] ?? {}, name)]));
}
