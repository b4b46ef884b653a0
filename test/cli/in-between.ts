import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * Passes calls on to a service. In front of each change that is stored it runs `before`, which gets the number of changes
 * so far, and may refuse to pass it on.
 */
export async function startInBetween(
  url: string,
  before: (changes: number) => Promise<'refuse' | undefined>,
) {
  let changes = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const { method = 'GET', url: path = '/', headers } = request;
      const body = await buffer(request);
      const isStored = headers['x-posthorn-dry-run'] === undefined && !path.endsWith('/test_filter');
      if (method !== 'GET' && isStored && (await before(changes++)) === 'refuse') {
        response.writeHead(500).end();
        return;
      }
      const { host: _host, connection: _connection, 'content-length': _length, ...passed } = headers;
      const answer = await fetch(url + path, {
        method,
        headers: passed as Record<string, string>,
        ...(body.length > 0 && { body: new Uint8Array(body) }),
      });
      response.writeHead(answer.status, {
        'content-type': 'application/json',
        'x-posthorn-config-version': answer.headers.get('x-posthorn-config-version') ?? [],
      });
      response.end(await answer.text());
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
