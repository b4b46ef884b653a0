import type { EndpointSecret } from '../domain/config/endpoint.ts';
import type { EndpointAuthentication } from '../domain/config/endpoint-authentication.ts';
import type { EndpointId, IdFactory } from '../domain/ids.ts';
import { type EndpointFields, endpointFields } from '../domain/resources/endpoint-fields.ts';
import { usualValues } from '../domain/resources/fields.ts';
import { formatTime } from '../domain/time.ts';
import { Secret } from '../platform/secret.ts';
import { generateSecret } from '../signing/signing-secrets.ts';
import type { EndpointRow } from '../store/config/endpoints.ts';

interface Deps {
  ids: IdFactory;
  now(): number;
}

/** An endpoint without the facts of its row, such as its version. */
export type NewEndpoint = EndpointFields & Pick<EndpointRow, 'id' | 'secret'>;

/** An endpoint with the defaults of everything that is not given. */
export function newEndpoint(
  deps: Deps,
  given: {
    id: EndpointId;
    name: string;
    url: string;
    /** Empty or absent: one is made. */
    secret?: string | undefined;
    authentication?: EndpointAuthentication;
  },
): NewEndpoint {
  return {
    ...usualValues(endpointFields),
    id: given.id,
    name: given.name,
    url: given.url,
    app_id: given.id,
    secret: new Secret({
      secrets: [newSecret(deps, given.secret)],
      authentication: given.authentication ?? null,
      mtls_client_cert: null,
      signing_key: null,
      slack_webhook_url: '',
      teams_webhook_url: '',
      headers: {},
      broker: null,
    }),
  };
}

export function newSecret({ ids, now }: Deps, value: string | undefined): EndpointSecret {
  const at = formatTime(now());
  return {
    uid: ids.next(),
    value: value || generateSecret(),
    expires_at: null,
    created_at: at,
    updated_at: at,
    deleted_at: null,
  };
}

/**
 * The secrets after a new one was made: the one that signs until now signs along for `seconds` more. 0 ends all old
 * ones: an older one that still signs may be the one that leaked.
 */
export function rolledSecrets(
  deps: Deps,
  secrets: readonly EndpointSecret[],
  { seconds, value }: { seconds: number; value: string | undefined },
): EndpointSecret[] {
  const nowMs = deps.now();
  const times = { expires_at: formatTime(nowMs + seconds * 1000), updated_at: formatTime(nowMs) };
  const live = secrets.filter(({ expires_at }) => expires_at === null || Date.parse(expires_at) > nowMs);
  const old = live.map((secret) =>
    secret.expires_at === null || seconds === 0 ? { ...secret, ...times } : secret,
  );
  return [...old, newSecret(deps, value)];
}
