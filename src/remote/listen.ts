/*
 * Listens to a project and forwards each delivery to a local program (docs/listen.md has the messages).
 *
 *   connect -> ready -> deliveries, each forwarded and answered with its result
 *           -> the connection breaks -> wait, 0.5 s at first and 15 s at most, with jitter -> connect
 *           -> an error of the server -> the command ends with its message
 *   Ctrl-C  -> close, a summary, exit 0
 *
 * The server gives out at most `max` deliveries without a result, so work and memory are bounded. A result that finds no
 * connection waits for the next one; after 30 s the service counts the delivery as failed by itself.
 */
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { EXIT, StartupError, usageError } from '../platform/startup-error.ts';
import type { Given } from './command.ts';
import { type Connection, clientOf, connectionOf, explained } from './connect.ts';
import { type Forwarded, forward } from './forward.ts';
import { jsonText, line, note, printable, styled } from './output.ts';

interface Delivery {
  uid: string;
  lease: string;
  event_id: string;
  event_type: string;
  attempt: number;
  headers: Record<string, string>;
  body: string;
}

type FromServer =
  | { type: 'ready'; device: { uid: string }; secret: string; matched: number }
  | ({ type: 'delivery' } & Delivery)
  | { type: 'recorded'; uid: string; state: string }
  | { type: 'error'; code: string; message: string };

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 15_000;
const MAX_UNSENT = 100;

export async function listen(given: Given): Promise<number> {
  const target = targetOf(given);
  const connection = await connectionOf(given);
  // A refused upgrade has no reason that a client can read. This call has.
  const project = await explained(connection, async () => {
    const client = clientOf(connection);
    if (connection.project !== undefined) return (await client.projects.get(connection.project)).uid;
    const [only, other] = await client.projects.list();
    if (only === undefined || other !== undefined) throw usageError('name the project with --project');
    return only.uid;
  });
  const listener = new Listener(given, { connection, project, target });
  process.once('SIGINT', () => listener.stop());
  process.once('SIGTERM', () => listener.stop());
  await listener.run();
  listener.summary();
  return EXIT.done;
}

/** Other machines get nothing without a word: deliveries may have the data of customers. */
function targetOf(given: Given): URL | undefined {
  const text = given.text('forward-to');
  if (text === undefined) return undefined;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw usageError('--forward-to must be a URL such as http://localhost:3000/hooks');
  const url = new URL(text);
  if (
    !/^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname) &&
    !given.has('allow-remote')
  )
    throw usageError(`${url.hostname} is not this machine; add --allow-remote if that is meant`);
  return url;
}

class Listener {
  readonly #given: Given;
  readonly #at: { connection: Connection; project: string; target: URL | undefined };
  readonly #stopping = new AbortController();
  /** Results that found no connection. */
  #unsent: string[] = [];
  #socket: WebSocket | undefined;
  #isFirst = true;
  #forwarded = 0;
  #failed = 0;

  constructor(given: Given, at: { connection: Connection; project: string; target: URL | undefined }) {
    this.#given = given;
    this.#at = at;
  }

  stop(): void {
    this.#stopping.abort();
    this.#socket?.close(1000);
  }

  summary(): void {
    note(`${this.#forwarded} deliveries, ${this.#failed} of them failed`);
  }

  async run(): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    while (!this.#stopping.signal.aborted) {
      const wasReady = await this.#connected();
      if (this.#stopping.signal.aborted) return;
      waitMs = wasReady ? FIRST_WAIT_MS : Math.min(MAX_WAIT_MS, waitMs * 2);
      note('posthorn: the connection broke; connecting again');
      // Jitter: listeners of a node that stopped do not all come back at the same time.
      const pause = waitMs * (0.5 + Math.random() / 2);
      await delay(pause, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  /** One connection, until it ends. Whether it was ready. */
  #connected(): Promise<boolean> {
    const { connection, project } = this.#at;
    const url = new URL(
      `${connection.url.replace(/\/+$/, '').replace(/^http/, 'ws')}/api/v1/projects/${project}/listen`,
    );
    const headers = { authorization: `Bearer ${connection.key}`, 'x-posthorn-strict': 'true' };
    // Node's WebSocket takes headers, so the key is not in the URL. The types are those of browsers.
    const socket = new WebSocket(url, { headers } as unknown as string[]);
    this.#socket = socket;
    let isReady = false;
    return new Promise((resolve, reject) => {
      socket.addEventListener('open', () => socket.send(JSON.stringify(this.#firstMessage())));
      socket.addEventListener('message', ({ data }) => {
        const message = JSON.parse(String(data)) as FromServer;
        if (message.type === 'error') return reject(refusalOf(message));
        if (message.type === 'ready') {
          isReady = true;
          this.#ready(message);
        }
        if (message.type === 'delivery') void this.#deliver(message).catch(reject);
      });
      // An error is always followed by a close.
      socket.addEventListener('close', () => resolve(isReady));
    });
  }

  #firstMessage(): object {
    const types = this.#given.texts('event-type');
    const since = this.#isFirst ? this.#given.text('since') : undefined;
    const body = this.#given.text('filter');
    return {
      type: 'listen',
      host_name: this.#given.text('name') ?? hostname(),
      ...(types.length > 0 && { event_types: types }),
      ...(this.#given.text('source') !== undefined && { source_id: this.#given.text('source') }),
      ...(body !== undefined && { filter: { body: JSON.parse(body) as unknown } }),
      ...(since !== undefined && { since }),
    };
  }

  #ready({ secret, matched, device }: FromServer & { type: 'ready' }): void {
    const { target } = this.#at;
    if (this.#isFirst) {
      const where = target === undefined ? 'deliveries are shown only' : `forwarding to ${target.href}`;
      note(`Listening as device ${device.uid}: ${where}. Ctrl-C ends it.`);
      note(`Deliveries are signed with the secret ${secret}`);
      if (matched > 0) note(`${matched} deliveries of earlier events follow.`);
    }
    this.#isFirst = false;
    for (const result of this.#unsent) this.#socket?.send(result);
    this.#unsent = [];
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { target } = this.#at;
    const body = Buffer.from(delivery.body, 'base64');
    const result: Forwarded =
      target === undefined ? { ok: true, ms: 0 } : await forward(target, { headers: delivery.headers, body });
    this.#forwarded += 1;
    if (!result.ok) this.#failed += 1;
    this.#show(delivery, result);
    const { uid, lease } = delivery;
    const url = target === undefined ? {} : { url: target.href };
    this.#send(JSON.stringify({ type: 'result', uid, lease, ...url, ...result }));
  }

  #send(result: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#socket.send(result);
    if (this.#unsent.length < MAX_UNSENT) this.#unsent.push(result);
  }

  #show({ uid, event_id, event_type, attempt, body }: Delivery, result: Forwarded): void {
    const { ok, status, reason, ms } = result;
    if (this.#given.has('json')) {
      const shown = { uid, event_id, event_type, attempt, ok, status, reason, ms };
      return line(jsonText(this.#at.target === undefined ? { ...shown, body: textOf(body) } : shown));
    }
    const outcome = styled(ok ? 'green' : 'red', status === undefined ? (reason ?? 'shown') : String(status));
    const time = styled('gray', new Date().toISOString().slice(11, 23));
    line(`${time}  ${printable(event_type)}  ${uid}  -> ${outcome}  ${Math.round(ms)} ms`);
    if (this.#given.has('print') || this.#at.target === undefined) line(`  ${printable(textOf(body))}`);
  }
}

function textOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

function refusalOf({ code, message }: { code: string; message: string }): StartupError {
  const isKey = /^(unauthorized|forbidden|key_|invalid_key|not_allowed)/.test(code);
  return new StartupError(`the service ended the connection: ${message}`, {
    exitCode: isKey ? EXIT.refused : EXIT.failed,
  });
}
