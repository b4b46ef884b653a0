import type { Configuration, IDToken, UserInfoResponse } from 'openid-client';
import { AppError } from '../domain/errors.ts';
import type { Role } from '../domain/role.ts';
import type { Sealer } from '../platform/sealer.ts';
import type { Secret } from '../platform/secret.ts';
import { isEmail, normalEmail } from './people-deps.ts';

/** An OpenID Connect provider, from the settings of the instance. */
export interface Provider {
  /** In addresses, and the method of its sessions. */
  name: string;
  /** On the button. */
  title: string;
  issuer: string;
  clientId: string;
  /** Null: a public client. */
  clientSecret: Secret<string> | null;
  /** Domains of addresses that may sign in. Empty: all. */
  domains: readonly string[];
  /** Whether the first sign-in makes an account. Otherwise only people who were invited may sign in. */
  createsAccounts: boolean;
  scopes: string;
  groupsClaim: string;
  /** The rights of the members of each group. */
  groups: readonly GroupRule[];
  /** Whether the provider asks for a second factor itself. */
  hasSecondFactor: boolean;
}

interface GroupRule {
  group: string;
  /** The role in a project, or the administration of the instance. */
  gives: { projectId: string; role: Role } | 'instance';
}

/** The claims of a provider about a person. */
export interface Identity {
  issuer: string;
  subject: string;
  /** In lower case. The provider has confirmed it. */
  email: string;
  name: string;
  groups: readonly string[];
  hasSecondFactor: boolean;
}

/**
 * Sign-in at OpenID Connect providers: the authorization code flow with PKCE, state and nonce. States of a sign-in:
 *   begun    -> the browser is sent to the provider. A sealed cookie of that browser has the values that the answer must
 *               match, so nothing is stored, and an answer in another browser is refused.
 *   answered -> within ten minutes: the code is exchanged for an ID token, which must be signed by a key of the provider,
 *               be for this client, carry the nonce and be young. A provider takes each code once.
 *
 * Providers are chosen by the operator, so the egress rule does not apply to them. The library is loaded with the first
 * sign-in.
 */
const TIMEOUT_SECONDS = 10;
const ANSWER_MS = 10 * 60_000;
const KEEP_METADATA_MS = 3_600_000;
const PLACE = 'sign-in at a provider';
/** Values of `amr` for which a second factor was used, RFC 8176. */
const SECOND_FACTORS = new Set(['mfa', 'otp', 'hwk', 'sms', 'swk']);

interface Begun {
  provider: string;
  state: string;
  nonce: string;
  verifier: string;
  returnTo: string;
  atMs: number;
}

interface OidcDeps {
  sealer: Sealer;
  now(): number;
  publicUrl(): string;
  /** Logs why a provider was not reached or its answer was refused. */
  failed(error: Error, what: string): void;
}

export class Oidc {
  readonly providers: readonly Provider[];
  readonly #deps: OidcDeps;
  readonly #known = new Map<string, { config: Configuration; sinceMs: number }>();

  constructor(providers: readonly Provider[], deps: OidcDeps) {
    this.providers = providers;
    this.#deps = deps;
  }

  /** Where the browser goes, and the value of the cookie that it keeps meanwhile. */
  async begin(name: string, returnTo: string): Promise<{ url: string; sealed: string }> {
    const provider = this.#find(name);
    const oidc = await import('openid-client');
    const config = await this.#configure(provider);
    const begun: Begun = {
      provider: name,
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
      returnTo,
      atMs: this.#deps.now(),
    };
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: this.#callback(provider),
      scope: provider.scopes,
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: 'S256',
    });
    const sealed = this.#deps.sealer.seal(JSON.stringify(begun), PLACE).toString('base64url');
    return { url: url.href, sealed };
  }

  /** Checks the answer of a provider. `query`: of the address that the browser came back to. */
  async finish(
    name: string,
    { query, sealed }: { query: string; sealed: string | undefined },
  ): Promise<{ provider: Provider; identity: Identity; returnTo: string }> {
    const provider = this.#find(name);
    const begun = this.#open(sealed);
    if (begun === null || begun.provider !== name || this.#deps.now() - begun.atMs > ANSWER_MS)
      throw new AppError('provider_refused');
    const config = await this.#configure(provider);
    const claims = await this.#exchange(config, new URL(`${this.#callback(provider)}${query}`), begun);
    return { provider, identity: this.#identify(provider, claims), returnTo: begun.returnTo };
  }

  #find(name: string): Provider {
    const provider = this.providers.find((one) => one.name === name);
    if (provider === undefined) throw new AppError('not_found', { resource: 'provider', id: name });
    return provider;
  }

  #callback({ name }: Provider): string {
    return `${this.#deps.publicUrl()}/auth/providers/${name}/callback`;
  }

  #open(sealed: string | undefined): Begun | null {
    if (sealed === undefined) return null;
    try {
      return JSON.parse(this.#deps.sealer.open(Buffer.from(sealed, 'base64url'), PLACE)) as Begun;
    } catch {
      // The cookie belongs to the visitor, who may have changed it.
      return null;
    }
  }

  async #configure(provider: Provider): Promise<Configuration> {
    const known = this.#known.get(provider.name);
    if (known !== undefined && performance.now() - known.sinceMs < KEEP_METADATA_MS) return known.config;
    const { issuer, clientId, clientSecret } = provider;
    const oidc = await import('openid-client');
    // ID tokens are verified with the keys of the provider, in addition to TLS.
    const execute = [oidc.enableNonRepudiationChecks];
    // settings.ts allows http:// for loopback only.
    if (issuer.startsWith('http:')) execute.push(oidc.allowInsecureRequests);
    const auth = clientSecret === null ? oidc.None() : oidc.ClientSecretBasic(clientSecret.reveal());
    try {
      const options = { execute, timeout: TIMEOUT_SECONDS };
      const config = await oidc.discovery(new URL(issuer), clientId, undefined, auth, options);
      this.#known.set(provider.name, { config, sinceMs: performance.now() });
      return config;
    } catch (error) {
      this.#deps.failed(error as Error, `the provider ${provider.name} does not answer`);
      throw new AppError('provider_unavailable', { provider: provider.title }, { cause: error });
    }
  }

  async #exchange(config: Configuration, answer: URL, begun: Begun): Promise<UserInfoResponse> {
    const oidc = await import('openid-client');
    try {
      const tokens = await oidc.authorizationCodeGrant(config, answer, {
        expectedState: begun.state,
        expectedNonce: begun.nonce,
        pkceCodeVerifier: begun.verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims() as IDToken;
      if (claims['email'] !== undefined) return claims as UserInfoResponse;
      // Its subject must be that of the ID token.
      const more = await oidc.fetchUserInfo(config, tokens.access_token, claims.sub);
      return { ...more, ...claims } as UserInfoResponse;
    } catch (error) {
      this.#deps.failed(error as Error, `an answer of the provider ${begun.provider} was refused`);
      throw new AppError('provider_refused', {}, { cause: error });
    }
  }

  #identify(provider: Provider, claims: UserInfoResponse): Identity {
    const { sub, email, email_verified, name } = claims;
    if (typeof email !== 'string' || email_verified !== true) throw new AppError('provider_unverified');
    const address = normalEmail(email);
    if (!isEmail(address)) throw new AppError('provider_unverified');
    const domain = address.slice(address.lastIndexOf('@') + 1);
    if (provider.domains.length > 0 && !provider.domains.includes(domain))
      throw new AppError('provider_domain', { domain });
    return {
      issuer: provider.issuer,
      subject: sub,
      email: address,
      name: typeof name === 'string' ? name.slice(0, 256) : '',
      groups: texts(claims[provider.groupsClaim]),
      hasSecondFactor:
        provider.hasSecondFactor || texts(claims['amr']).some((method) => SECOND_FACTORS.has(method)),
    };
  }
}

const texts = (claim: unknown): string[] =>
  Array.isArray(claim) ? claim.filter((item) => typeof item === 'string') : [];
