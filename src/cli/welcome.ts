import type { Running } from '../start/running.ts';

/**
 * What a start says when it serves. Keys are shown only to a person at a terminal: what a program prints elsewhere is
 * kept, in the journal or by a collector of logs.
 */
export function welcome({
  url,
  credentials,
  file,
  isTerminal,
  hasFile,
}: Pick<Running, 'url' | 'credentials'> & {
  file: string;
  isTerminal: boolean;
  hasFile: boolean;
}): string {
  // Another node may have made the first start; then its keys are where it ran.
  const keys = hasFile ? ` (keys: ${file} of the first start)` : '';
  if (credentials === null) return `Posthorn is ready at ${url}${keys}\n`;
  if (!isTerminal) return `Posthorn is ready at ${url} (its project and keys are in ${file})\n`;
  const { project_id, api_key } = credentials;
  return `
Posthorn is ready at ${url}

  project  ${project_id}
  key      ${api_key}
  (kept in ${file}, which also has the instance key; API reference: ${url}/docs)

Send a first event:

  curl ${url}/api/v1/projects/${project_id}/events/broadcast \\
    -H 'Authorization: ${api_key}' -H 'Content-Type: application/json' \\
    -d '{"event_type":"hello.world","data":{"greeting":"hello"}}'

`;
}
