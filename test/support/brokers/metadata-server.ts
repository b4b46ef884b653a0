import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/**
 * The few calls by which clouds give credentials to a machine: version 2 of the metadata service of Amazon, its server for
 * containers, its token service, and Google's metadata server. Each is refused without the headers that the cloud asks for.
 */
const ROLE = 'role-of-tests';
const SESSION = 'session of the metadata service';

export const WEB_TOKEN = 'web identity of tests';
export const CONTAINER_TOKEN = 'container of tests';

export interface GivenKey {
  id: string;
  secret: string;
  token?: string;
}

export class MetadataServer {
  readonly host: string;
  /** Paths that were asked for, in order. */
  readonly asked: string[] = [];
  key: GivenKey = { id: 'AKIDROLE', secret: 'secret of the role' };
  googleToken = 'token of tests';
  lastsMs = 3_600_000;
  /** Answers come after it. */
  held: Promise<void> | null = null;
  isDown = false;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    const { address, port } = server.address() as AddressInfo;
    this.host = `${address}:${port}`;
  }

  static async start(address = '127.0.0.1'): Promise<MetadataServer> {
    const server = createServer();
    server.listen(0, address);
    await once(server, 'listening');
    const made = new MetadataServer(server);
    server.on(
      'request',
      (request: IncomingMessage, response: ServerResponse) => void made.#answer(request, response),
    );
    return made;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { pathname } = new URL(request.url ?? '', this.url);
    this.asked.push(pathname);
    await this.held;
    const answer = this.isDown ? null : this.#of(request, pathname, body);
    response.writeHead(answer === null ? 403 : 200).end(answer ?? '<Error><Code>AccessDenied</Code></Error>');
  }

  /** Null: it is refused. */
  #of({ method, headers }: IncomingMessage, path: string, body: string): string | null {
    const isOpen = headers['x-aws-ec2-metadata-token'] === SESSION;
    const roles = '/latest/meta-data/iam/security-credentials/';
    if (path === '/latest/api/token')
      return method === 'PUT' && headers['x-aws-ec2-metadata-token-ttl-seconds'] !== undefined
        ? SESSION
        : null;
    if (path === roles) return isOpen ? `${ROLE}\n` : null;
    if (path === roles + ROLE) return isOpen ? JSON.stringify(this.#json()) : null;
    if (path === '/container')
      return headers.authorization === CONTAINER_TOKEN ? JSON.stringify(this.#json()) : null;
    if (path === '/') return this.#sts(new URLSearchParams(body));
    if (
      path === '/computeMetadata/v1/instance/service-accounts/default/token' &&
      headers['metadata-flavor'] === 'Google'
    )
      return JSON.stringify({
        access_token: this.googleToken,
        expires_in: this.lastsMs / 1000,
        token_type: 'Bearer',
      });
    return null;
  }

  #json() {
    const { id, secret, token } = this.key;
    return { AccessKeyId: id, SecretAccessKey: secret, Token: token, Expiration: this.#end() };
  }

  #end(): string {
    return new Date(Date.now() + this.lastsMs).toISOString();
  }

  #sts(form: URLSearchParams): string | null {
    const { id, secret, token = '' } = this.key;
    if (form.get('Action') !== 'AssumeRoleWithWebIdentity' || form.get('Version') !== '2011-06-15')
      return null;
    if (form.get('WebIdentityToken') !== WEB_TOKEN || form.get('RoleArn') !== 'arn:role') return null;
    return `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
      <SessionToken>${token}</SessionToken><SecretAccessKey>${secret}</SecretAccessKey>
      <Expiration>${this.#end()}</Expiration><AccessKeyId>${id}</AccessKeyId>
    </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
  }
}
