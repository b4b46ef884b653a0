import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

/**
 * A way to a server of SQS that checks what Amazon checks and ElasticMQ does not: the signature (version 4) of each
 * request, and the rights of the key. Its answers have the names that Amazon gives them.
 */
const CERTIFICATES = join(import.meta.dirname, '../certificates');

export interface SqsKey {
  secret: string;
  /** Actions that the key may not do, such as `ReceiveMessage`. */
  denied?: readonly string[];
}

export class SqsGate {
  readonly port: number;
  /** Actions that came through, in order. */
  readonly actions: string[] = [];
  /** So many deletions fail for all of their messages, as a fault of the server. */
  failingDeletes = 0;
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async start(
    target: number,
    keys: Readonly<Record<string, SqsKey>>,
    scheme: 'http' | 'https' = 'http',
  ): Promise<SqsGate> {
    const file = (name: string) => readFileSync(join(CERTIFICATES, name));
    const server =
      scheme === 'http'
        ? createServer()
        : createTlsServer({ key: file('endpoint.key'), cert: file('endpoint.pem') });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const gate = new SqsGate(server);
    server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
      void gate.#pass(incoming, response, { target, keys });
    });
    return gate;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #pass(
    incoming: IncomingMessage,
    response: ServerResponse,
    { target, keys }: { target: number; keys: Readonly<Record<string, SqsKey>> },
  ): Promise<void> {
    const body = await buffer(incoming);
    const action = String(incoming.headers['x-amz-target']).replace('AmazonSQS.', '');
    const problem = verdict(incoming, body, action, keys);
    if (problem !== null) {
      response.writeHead(403, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(
        JSON.stringify({ __type: `com.amazon.coral.service#${problem.name}`, message: problem.text }),
      );
      return;
    }
    this.actions.push(action);
    if (action === 'DeleteMessageBatch' && this.failingDeletes > 0) {
      this.failingDeletes -= 1;
      const entries = (JSON.parse(body.toString()) as { Entries: { Id: string }[] }).Entries;
      const Failed = entries.map(({ Id }) => ({ Id, SenderFault: false, Code: 'InternalError' }));
      response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(JSON.stringify({ Failed, Successful: [] }));
      return;
    }
    const { method, url, headers } = incoming;
    const outgoing = request({ port: target, host: '127.0.0.1', method, path: url, headers });
    outgoing.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    outgoing.end(body);
  }
}

function verdict(
  incoming: IncomingMessage,
  body: Buffer,
  action: string,
  keys: Readonly<Record<string, SqsKey>>,
): { name: string; text: string } | null {
  const given = /Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)/.exec(
    incoming.headers.authorization ?? '',
  );
  const [, id = '', scope = '', signed = '', signature] = given ?? [];
  const key = keys[id];
  if (key === undefined)
    return { name: 'InvalidClientTokenId', text: 'The security token included in the request is invalid.' };
  if (signature !== signatureOf({ incoming, body, scope, signed }, key.secret))
    return { name: 'SignatureDoesNotMatch', text: 'The request signature does not match.' };
  if (key.denied?.includes(action) === true)
    return { name: 'AccessDeniedException', text: `${id} is not authorized to perform: sqs:${action}` };
  return null;
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

function signatureOf(
  asked: { incoming: IncomingMessage; body: Buffer; scope: string; signed: string },
  secret: string,
): string {
  const { headers, method, url } = asked.incoming;
  const lines = asked.signed.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [method, url, '', lines.join(''), asked.signed, sha256(asked.body)].join('\n');
  const [date = '', region = '', service = '', end = ''] = asked.scope.split('/');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], asked.scope, sha256(canonical)].join('\n');
  const key = [region, service, end].reduce(hmac, hmac(`AWS4${secret}`, date));
  return hmac(key, text).toString('hex');
}
