import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Json } from './client.ts';

/**
 * The official client at a server, with a key or portal token. `mode`: which era of the protocol it speaks. `revision`: the
 * only one that it knows.
 */
export async function connectMcp(
  url: string,
  key: string,
  {
    query = '',
    mode = 'auto',
    revision,
  }: { query?: string; mode?: 'auto' | 'legacy'; revision?: string } = {},
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    {
      versionNegotiation: { mode },
      ...(revision !== undefined && { supportedProtocolVersions: [revision] }),
    },
  );
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), { requestInit: { headers } }),
  );
  return client;
}

/** Calls a tool and reads its answer. */
export async function callTool(client: Client, name: string, given: object = {}): Promise<Json> {
  const { content, isError } = await client.callTool({ name, arguments: { ...given } });
  const [{ text = '' } = {}] = content as { text?: string }[];
  return isError === true ? { refused: text } : JSON.parse(text);
}
