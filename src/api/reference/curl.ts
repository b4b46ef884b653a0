import { ADDRESS } from './address.ts';
import { jsonSchema, type OpenApiDocument, type Operation, resolved, type Schema } from './document.ts';
import { exampleOf } from './example.ts';
import { requestExamples } from './request-examples.ts';
import type { Route } from './site-map.ts';

/** The cookies of a session, which a sign-in stores and every change may renew. */
const COOKIES = 'session.txt';

/** A curl command to copy. It uses the shell variables of the start page, and ids such as `$endpoint_id`. */
export function curlOf(document: OpenApiDocument, route: Route): string {
  const { method, path, operation } = route;
  const { body = generatedBody(document, operation), query } = requestExamples[operation.operationId] ?? {};
  const verb = method === (body === undefined ? 'GET' : 'POST') ? '' : ` -X ${method}`;
  // Without -N curl would keep the rows of a stream back.
  const flags = operation.operationId.startsWith('stream') ? '-sN' : '-s';
  const address = `${addressOf(path)}${query === undefined ? '' : `?${query}`}`;
  const lines = [`curl ${flags}${verb} "${address}"`, ...credential(route)];
  if (body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d '${jsonInShell(body)}'`);
  return lines.join(' \\\n  ');
}

const addressOf = (path: string): string =>
  ADDRESS +
  path
    .replace('{projectID}', '$project')
    .replaceAll(/\{(\w+)\}/g, (_whole, name: string) => `$${variable(name)}`);

/** `eventDeliveryID` is `event_delivery_id`: no variable is named `key` but the API key. */
const variable = (name: string): string =>
  name.replace('ID', 'Id').replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The options that authenticate, as `x-access` asks. */
function credential({ method, path, operation }: Route): string[] {
  const { 'x-access': access, operationId } = operation;
  if (operationId === 'signIn' || operationId === 'useLink') return [`-c ${COOKIES}`];
  if (access === 'session' || operationId === 'signOut')
    return method === 'GET' ? [`-b ${COOKIES}`] : [`-b ${COOKIES} -c ${COOKIES}`, `-H 'X-Posthorn-Csrf: 1'`];
  if (access === 'public') return [];
  if (path.startsWith('/portal-api/')) return [`-H "Authorization: $portal_token"`];
  return [`-H "Authorization: ${access === 'instance' ? '$instance_key' : '$key'}"`];
}

/** JSON between single quotes. A value such as `$endpoint_id` stands outside them, so that the shell replaces it. */
const jsonInShell = (value: unknown): string =>
  JSON.stringify(value, null, 2)
    .replaceAll("'", String.raw`'\''`)
    .replaceAll(/"(\$\w+)"(?!:)/g, `"'$1'"`);

/** The required fields, or the first few if none is required. */
function generatedBody(document: OpenApiDocument, operation: Operation): unknown {
  const schema: Schema | undefined = jsonSchema(operation.requestBody);
  if (schema === undefined) return undefined;
  const { properties, required = [] } = resolved(document, schema);
  if (properties === undefined) return exampleOf(document, schema);
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 3);
  return Object.fromEntries(names.map((name) => [name, exampleOf(document, properties[name] ?? {}, name)]));
}
