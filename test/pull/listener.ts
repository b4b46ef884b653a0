import { WebSocket } from 'ws';
import type { ApiClient, Json } from '../support/client.ts';
import { atLeast, eventually, not } from '../support/eventually.ts';

/** A listening program: it keeps every message and answers deliveries as it is asked to. */
export class Listener {
  readonly socket: WebSocket;
  readonly messages: Json[] = [];
  closeCode: number | null = null;

  constructor(client: ApiClient, base = client.base) {
    this.socket = new WebSocket(`${base.replace(/^http/, 'ws')}/listen`, {
      headers: { authorization: `Bearer ${client.key}` },
    });
    this.socket.on('message', (data: Buffer) => this.messages.push(JSON.parse(data.toString())));
    this.socket.on('close', (code) => {
      this.closeCode = code;
    });
    this.socket.on('error', () => {});
  }

  static async start(client: ApiClient, fields: object = {}, base = client.base): Promise<Listener> {
    const listener = new Listener(client, base);
    await listener.listen(fields);
    await listener.first('ready');
    return listener;
  }

  async listen(fields: object = {}): Promise<void> {
    await eventually(async () => this.socket.readyState, WebSocket.OPEN);
    this.send({ type: 'listen', host_name: 'laptop', ...fields });
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  of(type: string): Json[] {
    return this.messages.filter((message) => message.type === type);
  }

  async first(type: string): Promise<Json> {
    const [message] = await this.count(type, 1);
    return message;
  }

  count(type: string, count: number): Promise<Json[]> {
    return eventually(async () => this.of(type), { length: atLeast(count) });
  }

  answer({ uid, lease }: Json, status = 200): void {
    this.send({
      type: 'result',
      uid,
      lease,
      ok: status < 300,
      url: 'http://localhost:3000/hooks',
      status,
      headers: { 'content-type': 'text/plain' },
      body: Buffer.from('local').toString('base64'),
      ms: 12.5,
    });
  }

  async close(): Promise<void> {
    this.socket.close();
    await eventually(async () => this.closeCode, not(null));
  }
}
