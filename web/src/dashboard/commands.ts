/** Shell commands that work as they are: they read key and project from the file that the first start wrote. */
export function sendCommand(project: string, type = 'invoice.paid'): string {
  return [
    `key=$(node -p "require('./.posthorn/credentials.json').api_key")`,
    `curl -s ${location.origin}/api/v1/projects/${project}/events/broadcast \\`,
    `  -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \\`,
    `  -d '{"event_type": "${type}", "data": {"invoice": 7}}'`,
  ].join('\n');
}

export function createCommand(project: string, path: string, body: object): string {
  return [
    `key=$(node -p "require('./.posthorn/credentials.json').api_key")`,
    `curl -s ${location.origin}/api/v1/projects/${project}/${path} \\`,
    `  -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n');
}
