import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A name server for tests: UDP on loopback, A and AAAA, with answers from the given function. */

export type DnsAnswer =
  | { addresses: readonly string[]; ttlSeconds?: number }
  | 'not_found'
  | 'server_failure'
  | 'silence';

export interface DnsServer {
  /** For `nameServers`. */
  readonly address: string;
  /** `A name` or `AAAA name`, in order of arrival. */
  readonly queries: string[];
  close(): Promise<void>;
}

const TYPES = new Map([
  [1, 'A'],
  [2, 'NS'],
  [28, 'AAAA'],
]);

export async function startDnsServer(answerTo: (name: string) => DnsAnswer): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const queries: string[] = [];
  socket.on('message', (query, from) => {
    const { name, type, questionEnd } = parseQuestion(query);
    queries.push(`${TYPES.get(type) ?? type} ${name}`);
    const answer = answerTo(name);
    if (answer !== 'silence') socket.send(respond(query.subarray(0, questionEnd), type, answer), from.port);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function parseQuestion(query: Buffer): { name: string; type: number; questionEnd: number } {
  const labels: string[] = [];
  let at = 12;
  while (query[at] !== 0) {
    const length = query[at]!;
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), questionEnd: at + 5 };
}

function respond(head: Buffer, type: number, answer: Exclude<DnsAnswer, 'silence'>): Buffer {
  const response = Buffer.from(head);
  const code = answer === 'not_found' ? 3 : answer === 'server_failure' ? 2 : 0;
  const records =
    typeof answer === 'string'
      ? []
      : answer.addresses.flatMap((a) => record(a, type, answer.ttlSeconds ?? 1));
  response.writeUInt16BE(0x8180 | code, 2);
  response.writeUInt16BE(records.length, 6);
  response.writeUInt16BE(0, 8);
  response.writeUInt16BE(0, 10);
  return Buffer.concat([response, ...records]);
}

function record(address: string, type: number, ttlSeconds: number): Buffer[] {
  const isV6 = address.includes(':');
  if (isV6 !== (type === 28) || (type !== 1 && type !== 28)) return [];
  // Full form only for IPv6: eight groups.
  const bytes = isV6
    ? address.split(':').flatMap((g) => [Number.parseInt(g, 16) >> 8, Number.parseInt(g, 16) & 0xff])
    : address.split('.').map(Number);
  const fixed = Buffer.alloc(12);
  fixed.writeUInt16BE(0xc00c, 0);
  fixed.writeUInt16BE(type, 2);
  fixed.writeUInt16BE(1, 4);
  fixed.writeUInt32BE(ttlSeconds, 6);
  fixed.writeUInt16BE(bytes.length, 10);
  return [Buffer.concat([fixed, Buffer.from(bytes)])];
}
