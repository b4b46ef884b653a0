import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { Posthorn } from './posthorn.ts';

const opened: ServerResponse[] = [];
const server: Server = createServer((_request, response) => {
  opened.push(response);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('event: more\nid: 1\ndata: {}\n\nevent: reset\nid: 2\ndata: {}\n\n');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

it('a caller that leaves the loop of a stream closes its connection', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const posthorn = new Posthorn({ url, key: 'key', project: 'project' });
  for await (const { kind } of posthorn.stream({ signal: new AbortController().signal })) {
    expect(kind).toBe('more');
    break;
  }
  const [response] = opened;
  if (response?.closed === false) await once(response, 'close');
  expect(opened.map(({ closed }) => closed)).toEqual([true]);
});
