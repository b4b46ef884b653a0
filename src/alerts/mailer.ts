import { createTransport, type Transporter } from 'nodemailer';
import type { Secret } from '../platform/secret.ts';

/**
 * Sends plain mail through one SMTP server, one mail after another, so that many alerts at once do not become as many
 * connections.
 */
const TIMEOUT_MS = 10_000;

export class Mailer {
  readonly #from: string;
  readonly #transport: Transporter;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: { url: Secret<string>; from: string }) {
    this.#from = options.from;
    this.#transport = createTransport({
      url: options.url.reveal(),
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      dnsTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }

  /** Rejects where the server did not take it. */
  send(mail: { to: string; subject: string; text: string }): Promise<void> {
    const sent = this.#turn.then(async () => {
      // An object is one address, whatever commas the text has.
      const to = { name: '', address: mail.to };
      await this.#transport.sendMail({ from: this.#from, to, subject: mail.subject, text: mail.text });
    });
    this.#turn = sent.catch(() => undefined);
    return sent;
  }
}
