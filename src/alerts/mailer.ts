import { lookup } from 'node:dns/promises';
import type { Socket } from 'node:net';
import { callbackify } from 'node:util';
import type { Transporter } from 'nodemailer';
import { tcpConnect } from '../dispatch/connection/tcp-connect.ts';
import type { Secret } from '../platform/secret.ts';
import { PatientTimer } from '../platform/time/patient-timer.ts';
import { Turns } from '../platform/turns.ts';

/**
 * Sends plain mail through one SMTP server, one mail after another, so that many alerts do not open many
 * connections. Projects take turns, so that the mail of one does not wait behind hundreds of another.
 *
 * A mail has one limit, from the name lookup to the server's last answer. Posthorn opens the socket and closes it when
 * the limit strikes. The limits of nodemailer are switched off: they count time in which this process stood still.
 */
const TIMEOUT_MS = 30_000;
const NEVER_MS = 2 ** 31 - 1;

export interface MailerOptions {
  url: Secret<string>;
  from: string;
  timeoutMs?: number;
}

interface Mail {
  to: string;
  subject: string;
  text: string;
}

interface Server {
  host?: string | undefined;
  port?: number | string | undefined;
  secure?: boolean | undefined;
}

export class Mailer {
  readonly #from: string;
  readonly #timeoutMs: number;
  readonly #url: Secret<string>;
  #transport: Transporter | undefined;
  readonly #turns = new Turns(1);
  /** Ends the mail under way. */
  #limit = new AbortController();

  constructor(options: MailerOptions) {
    this.#from = options.from;
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#url = options.url;
  }

  /** Rejects if the server refused it. */
  send(mail: Mail & { projectId: string }): Promise<void> {
    return this.#turns.run(mail.projectId, () => this.#sendInTime(mail));
  }

  /** Loads nodemailer with the first mail. That takes 0.1 s of CPU, which most nodes never need. */
  async #transporter(): Promise<Transporter> {
    const { createTransport } = await import('nodemailer');
    this.#transport ??= createTransport({
      url: this.#url.reveal(),
      getSocket: callbackify(async (server: Server) => ({
        connection: await connect(server, this.#limit.signal),
      })),
      connectionTimeout: NEVER_MS,
      greetingTimeout: NEVER_MS,
      socketTimeout: NEVER_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    return this.#transport;
  }

  async #sendInTime(mail: Mail): Promise<void> {
    const transport = await this.#transporter();
    // An object is one address, whatever commas the text has.
    const to = { name: '', address: mail.to };
    const limit = new AbortController();
    this.#limit = limit;
    const late = Promise.withResolvers<never>();
    const timer = new PatientTimer(this.#timeoutMs, () => {
      late.reject(new Error(`the mail server did not take the mail within ${this.#timeoutMs / 1000} s`));
      limit.abort();
    });
    const sending = transport.sendMail({
      from: this.#from,
      to,
      subject: mail.subject,
      text: mail.text,
    });
    try {
      await Promise.race([sending, late.promise]);
    } finally {
      timer.clear();
    }
  }
}

/** @throws Error if there is no connection, or the signal ended the wait for it. */
async function connect({ host, port, secure }: Server, signal: AbortSignal): Promise<Socket> {
  const addresses = await lookup(host ?? 'localhost', { all: true });
  const texts = addresses.map(({ address }) => address);
  const result = await tcpConnect(texts, Number(port ?? (secure === true ? 465 : 587)), signal);
  if (result.kind === 'failed') throw result.error;
  if (result.kind === 'aborted') throw new Error('the connection attempt was given up');
  const { socket } = result;
  const onAbort = (): void => void socket.destroy();
  signal.addEventListener('abort', onAbort);
  socket.once('close', () => signal.removeEventListener('abort', onAbort));
  return socket;
}
