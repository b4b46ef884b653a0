import { readFileSync } from 'node:fs';
import { createServer, type TlsOptions } from 'node:tls';
import { TestAuthority } from '../../support/servers/issue-certificate.ts';
import { type LoopbackServer, listen } from '../../support/servers/loopback-server.ts';
import type { Refusal, Target } from './destination-driver.ts';

const pem = (name: string): string =>
  readFileSync(new URL(`../../support/certificates/${name}`, import.meta.url), 'utf8');
const certificate = (name: string): TlsOptions => ({ cert: pem(`${name}.pem`), key: pem(`${name}.key`) });

const OTHER_NAME = "The broker's certificate is for another name: use the name that is in it.";
const WRONG: readonly (readonly [host: string, options: TlsOptions, reason: string])[] = [
  ['localhost', certificate('expired'), "The broker's certificate has expired: it must be renewed."],
  ['localhost', certificate('other'), OTHER_NAME],
  ['127.0.0.1', certificate('other'), OTHER_NAME],
  [
    'localhost',
    new TestAuthority().issue('stranger', 1),
    "The broker's certificate is not trusted: POSTHORN_CA_FILE may name its authority.",
  ],
];

/** Servers for any kind of broker: a client that refuses the certificate says nothing of its own protocol. */
export class WrongTls {
  readonly #servers: readonly LoopbackServer[];

  private constructor(servers: readonly LoopbackServer[]) {
    this.#servers = servers;
  }

  static async start(): Promise<WrongTls> {
    return new WrongTls(await Promise.all(WRONG.map(([, options]) => listen(createServer(options)))));
  }

  refusals(overTls: Target['overTls']): Refusal[] {
    return WRONG.map(([host, , reason], n) => [
      overTls(host, this.#servers[n]?.port ?? 0),
      'tls_failed',
      reason,
    ]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}
