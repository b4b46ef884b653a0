import { keyCommand } from './project-key.ts';

/** Shell commands that work as they are, in the folder of the first start. */
export function callCommand(project: string, path: string, body: object): string {
  return [
    keyCommand(project),
    `curl -s ${location.origin}/api/v1/projects/${project}/${path} \\`,
    `  -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body).replaceAll("'", `'\\''`)}'`,
  ].join('\n');
}

export const sendCommand = (project: string, type = 'invoice.paid', data: unknown = { invoice: 7 }): string =>
  callCommand(project, 'events/broadcast', { event_type: type, data });
