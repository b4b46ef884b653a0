import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { happened } from '../eventually.ts';

/** A real SMTP server on loopback that stores its mails. */
export interface Mail {
  to: string[];
  /** Headers and body as received. */
  text: string;
  isSecure: boolean;
}

export class MailServer {
  readonly mails: Mail[] = [];
  readonly #server: SMTPServer;
  readonly #scheme: string;

  private constructor(options: SMTPServerOptions) {
    this.#scheme = options.secure === true ? 'smtps' : 'smtp';
    this.#server = new SMTPServer({
      disabledCommands: ['STARTTLS', 'AUTH'],
      logger: false,
      ...options,
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const to = session.envelope.rcptTo.map(({ address }) => address);
          this.mails.push({ to, text: Buffer.concat(chunks).toString(), isSecure: session.secure });
          happened();
          done();
        });
      },
    });
  }

  static async start(options: SMTPServerOptions = {}): Promise<MailServer> {
    const server = new MailServer(options);
    await new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', () => resolve());
    });
    return server;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}
