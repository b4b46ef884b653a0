/*
 * Listens to a project and forwards each delivery to a local program (docs/listen.md has the messages).
 *
 *   connect -> ready -> deliveries, each forwarded and answered with its result
 *           -> the connection breaks -> wait, 0.5 s at first and 15 s at most, with jitter -> connect
 *           -> an error of the server that passes -> as a break; another one -> the command ends with its message
 *   Ctrl-C  -> close, a summary, exit 0
 *
 * The server gives out at most `max` deliveries without a result, so work and memory are bounded. A result that finds no
 * connection waits for the next one; after 30 s the service counts the delivery as failed by itself.
 */
import { AsyncResource } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, PosthornError } from '../../../client/src/posthorn.ts';
import { withQuery } from '../../domain/config/endpoint.ts';
import { printable } from '../../platform/printable.ts';
import { EXIT, StartupError } from '../../platform/startup-error.ts';
import type { Given } from '../terminal/command.ts';
import { counted, line, note, printJson, styled, styledLine } from '../terminal/output.ts';
import { terminal } from '../terminal/terminal.ts';
import { type Connection, clientOf, connectionOf, explained, projectOf } from './connect.ts';
import { type Forwarded, forward } from './forward.ts';
import { type ListenOptions, listenOptions } from './listen-options.ts';

interface Delivery {
  uid: string;
  lease: string;
  event_id: string;
  event_type: string;
  attempt: number;
  url_query_params: string;
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
/** Errors of the service that end by themselves. */
const PASSING = new Set<string>([
  'internal',
  'database_unavailable',
  'outcome_unknown',
  'stopping',
  'overloaded',
  'too_many',
  'request_timeout',
] satisfies ErrorCode[]);
/** The key or the project is gone, so connecting again is of no use. */
const REFUSED = new Set([401, 403, 404]);
/** The service takes no more of the address. */
const MAX_URL = 2_048;

export async function listen(given: Given): Promise<number> {
  const options = listenOptions(given);
  const connection = await connectionOf(given);
  // A refused upgrade has no reason that a client can read. This call has.
  const project = await explained(
    connection,
    async () => (await clientOf(connection).projects.get(await projectOf(connection))).uid,
  );
  const listener = new Listener(given, { ...options, connection, project });
  terminal().once('SIGINT', () => listener.stop());
  terminal().once('SIGTERM', () => listener.stop());
  await listener.run();
  listener.summary();
  return EXIT.done;
}

interface Place extends ListenOptions {
  connection: Connection;
  project: string;
}

class Listener {
  readonly #given: Given;
  readonly #at: Place;
  readonly #stopping = new AbortController();
  /** Results that found no connection. */
  #unsent: string[] = [];
  #socket: WebSocket | undefined;
  #isFirst = true;
  #forwarded = 0;
  #failed = 0;

  constructor(given: Given, at: Place) {
    this.#given = given;
    this.#at = at;
  }

  stop(): void {
    this.#stopping.abort();
    this.#socket?.close(1000);
  }

  summary(): void {
    note(`${counted(this.#forwarded, 'delivery', 'deliveries')}, ${this.#failed} of them failed`);
  }

  async run(): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    while (!this.#stopping.signal.aborted) {
      const wasReady = await this.#connected();
      if (this.#stopping.signal.aborted) return;
      if (wasReady) note('posthorn: the connection broke; connecting again');
      else await this.#checkAccess();
      waitMs = wasReady ? FIRST_WAIT_MS : Math.min(MAX_WAIT_MS, waitMs * 2);
      // Jitter: listeners of a node that stopped do not all come back at the same time.
      const pause = waitMs * (0.5 + Math.random() / 2);
      await sleep(pause, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  /** A refused upgrade has no reason that a client can read. This call has. A service that is away is waited for. */
  async #checkAccess(): Promise<void> {
    const { connection, project } = this.#at;
    const client = clientOf(connection);
    await explained(connection, () =>
      client.projects.get(project, { retries: 0 }).catch((error: unknown) => {
        if (error instanceof PosthornError && REFUSED.has(error.status)) throw error;
      }),
    );
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
      const hear = ({ data }: MessageEvent) => {
        const message = JSON.parse(String(data)) as FromServer;
        if (message.type === 'error') {
          if (!PASSING.has(message.code)) return reject(refusalOf(message));
          note(`posthorn: ${message.message}`);
        }
        if (message.type === 'ready') {
          isReady = true;
          this.#ready(message);
        }
        if (message.type === 'delivery') void this.#deliver(message).catch(reject);
      };
      // The connection may be one that another command of this process opened, with its terminal.
      socket.addEventListener('message', AsyncResource.bind(hear));
      // An error is always followed by a close.
      socket.addEventListener('close', () => resolve(isReady));
    });
  }

  #firstMessage(): object {
    const { first, since } = this.#at;
    return this.#isFirst && since !== undefined ? { ...first, since } : first;
  }

  #ready({ secret, matched, device }: FromServer & { type: 'ready' }): void {
    const { target } = this.#at;
    if (this.#isFirst) {
      const where = target === undefined ? 'deliveries are shown only' : `forwarding to ${target.href}`;
      note(`Listening as device ${device.uid}: ${where}. Ctrl-C ends it.`);
      note(`Deliveries are signed with the secret ${secret}`);
      if (matched > 0) note(`First come ${counted(matched, 'delivery', 'deliveries')} of earlier events.`);
    } else note('posthorn: connected again');
    this.#isFirst = false;
    for (const result of this.#unsent) this.#socket?.send(result);
    this.#unsent = [];
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { target, timeoutSeconds } = this.#at;
    const { headers, url_query_params: query } = delivery;
    const body = Buffer.from(delivery.body, 'base64');
    const to = target === undefined ? undefined : withQuery(target.href, query);
    const result: Forwarded =
      to === undefined ? { ok: true, ms: 0 } : await forward(to, { headers, body, timeoutSeconds });
    this.#forwarded += 1;
    if (!result.ok) this.#failed += 1;
    this.#show(delivery, result);
    const { uid, lease } = delivery;
    this.#send(JSON.stringify({ type: 'result', uid, lease, url: to?.slice(0, MAX_URL), ...result }));
  }

  #send(result: string): void {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#socket.send(result);
    if (this.#unsent.length < MAX_UNSENT) this.#unsent.push(result);
  }

  #show({ uid, event_id, event_type, attempt, body }: Delivery, result: Forwarded): void {
    const { ok, status, reason, ms } = result;
    if (this.#given.has('json')) {
      const shown = { uid, event_id, event_type, attempt, ok, status, reason, ms };
      return printJson(this.#at.target === undefined ? { ...shown, body: textOf(body) } : shown);
    }
    const answer = printable(status === undefined ? (reason ?? 'shown') : String(status));
    const outcome = styled(ok ? 'green' : 'red', answer);
    const time = styled('gray', new Date().toISOString().slice(11, 23));
    const what = printable(`${event_type}  ${uid}`);
    styledLine(`${time}  ${what}  -> ${outcome}  ${Math.round(ms)} ms`);
    if (this.#given.has('print') || this.#at.target === undefined) line(`  ${textOf(body)}`);
  }
}

function textOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

function refusalOf({ code, message }: { code: string; message: string }): StartupError {
  const isKey = /^(unauthenticated|key_rejected|session_ended|project_forbidden|role_required)$/.test(code);
  return new StartupError(`the service ended the connection: ${message}`, {
    exitCode: isKey ? EXIT.refused : EXIT.failed,
  });
}
