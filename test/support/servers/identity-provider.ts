import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type Configuration, type JWK, Provider } from 'oidc-provider';

/** A real OpenID Connect provider on loopback. It signs `account` in without a question. */
export interface IdentityAccount {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
  groups?: string[];
}

type Claims = Record<string, unknown>;
/** Gives another ID token instead of the provider's own. */
export type Forge = (claims: Claims, sign: (claims: Claims) => string) => string;

export class IdentityProvider {
  readonly url: string;
  account: IdentityAccount = { sub: 'unknown' };
  /** Applies to the next answers of the token endpoint. */
  forge: Forge | null = null;
  readonly #server: Server;
  readonly #key: KeyObject;

  private constructor(server: Server, url: string, key: KeyObject) {
    this.#server = server;
    this.url = url;
    this.#key = key;
  }

  static async start(redirectUris: () => string[]): Promise<IdentityProvider> {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve());
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const made = new IdentityProvider(server, url, privateKey);
    let handle: ReturnType<Provider['callback']> | undefined;
    server.on('request', (request, response) => {
      handle ??= made.#handlerOf(redirectUris());
      void made.#answer(request, response, handle);
    });
    return made;
  }

  #provider: Provider | undefined;

  #handlerOf(redirectUris: string[]): ReturnType<Provider['callback']> {
    const key = { ...this.#key.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'key' } as JWK;
    const configuration: Configuration = {
      clients: [
        {
          client_id: 'posthorn',
          client_secret: 'a client secret of the provider',
          redirect_uris: redirectUris,
        },
      ],
      jwks: { keys: [key] },
      cookies: { keys: ['a key for the cookies'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      pkce: { required: () => true },
      findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...this.account, sub }) }),
      loadExistingGrant: async ({ oidc }) => {
        const grant = new oidc.provider.Grant({
          clientId: oidc.client?.clientId ?? '',
          accountId: oidc.session?.accountId ?? '',
        });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
    };
    this.#provider = new Provider(this.url, configuration);
    return this.#provider.callback();
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    handle: ReturnType<Provider['callback']>,
  ): Promise<void> {
    if (request.url?.startsWith('/interaction/') === true) {
      const login = { accountId: this.account.sub };
      await this.#provider?.interactionFinished(request, response, { login });
      return;
    }
    if (request.url === '/token' && this.forge !== null) this.#forgeAnswer(response, this.forge);
    await handle(request, response);
  }

  #forgeAnswer(response: ServerResponse, forge: Forge): void {
    const end = response.end.bind(response);
    response.end = ((body: unknown) => {
      const answer = JSON.parse(String(body)) as { id_token?: string };
      if (answer.id_token === undefined) return end(body);
      const claims = JSON.parse(
        Buffer.from(answer.id_token.split('.')[1] ?? '', 'base64url').toString(),
      ) as Claims;
      const text = JSON.stringify({ ...answer, id_token: forge(claims, (other) => this.#sign(other)) });
      response.setHeader('content-length', Buffer.byteLength(text));
      return end(text);
    }) as typeof response.end;
  }

  #sign(claims: Claims): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const head = `${part({ alg: 'RS256', kid: 'key', typ: 'JWT' })}.${part(claims)}`;
    return `${head}.${createSign('sha256').update(head).sign(this.#key).toString('base64url')}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}
