import type { Running } from '../../start/stop-in-time.ts';

/**
 * The output of a start when it serves. Keys are shown only on a terminal, because other output is stored in
 * the journal or by a log collector.
 */
export function welcome({
  url,
  credentials,
  file,
  isTerminal,
  hasFile,
  link,
}: Pick<Running, 'url' | 'credentials'> & {
  file: string;
  isTerminal: boolean;
  hasFile: boolean;
  /** Signs the administrator in once. Null: not on a terminal, or not the first start. */
  link: string | null;
}): string {
  // Another node may have been first. Its data directory has the keys then.
  const keys = hasFile ? ` (keys: ${file} of the first start)` : '';
  if (credentials === null) return `Posthorn is ready at ${url}${keys}\n`;
  if (!isTerminal || link === null)
    return `Posthorn is ready at ${url} (its project and keys are in ${file}; posthorn sign-in-link makes a link to sign in)\n`;
  const { project_id, api_key } = credentials;
  return `
Posthorn is ready at ${url}

  project  ${project_id}
  key      ${api_key}
  (kept in ${file}, which also has the instance key; API reference: ${url}/docs)

Sign in, once and within 15 minutes: ${link}

Send a first event:

  curl ${url}/api/v1/projects/${project_id}/events/broadcast \\
    -H 'Authorization: ${api_key}' -H 'Content-Type: application/json' \\
    -d '{"event_type":"hello.world","data":{"greeting":"hello"}}'

`;
}
