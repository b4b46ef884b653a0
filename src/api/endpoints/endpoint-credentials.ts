import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Static } from 'typebox';
import { clientAssertion } from '../../dispatch/client/client-assertion.ts';
import type { EndpointSecrets } from '../../domain/config/endpoint.ts';
import type {
  EndpointAuthentication,
  OAuth2,
  OAuth2Config,
} from '../../domain/config/endpoint-authentication.ts';
import { invalid } from '../../domain/errors.ts';
import { isConnectionHeader, isHeaderName, isHeaderValue, OF_CONNECTION } from '../../domain/http-header.ts';
import { generateEd25519 } from '../../signing/signing-secrets.ts';
import { checkUrl } from '../http/check-settings.ts';
import type { ReadContext } from '../http/context.ts';
import { MASK } from '../http/portal-view.ts';
import { updated } from '../http/updated.ts';
import { readDestination } from './broker-of-endpoint.ts';
import { changedHeaders, checkAgainstAuthentication } from './endpoint-headers.ts';
import { type CreateEndpoint, UpdateEndpoint } from './endpoint-schema.ts';

type Input = Static<typeof CreateEndpoint> | Static<typeof UpdateEndpoint>;

/** The credentials of an endpoint after an update. */
export function changedCredentials(
  context: Pick<ReadContext, 'checkUrl'>,
  secrets: EndpointSecrets,
  input: Input,
): EndpointSecrets {
  const { authentication: given, mtls_client_cert, signing_key, headers, broker } = input;
  const known = { ...secrets, headers: secrets.headers ?? {}, broker: secrets.broker ?? null };
  const after = updated(known, UpdateEndpoint, {
    ...input,
    authentication: given && authentication(context, given),
    mtls_client_cert: mtls_client_cert && clientCertificate(secrets.mtls_client_cert, mtls_client_cert),
    signing_key: signing_key && signingKey(secrets.signing_key, signing_key),
    headers: headers && changedHeaders(known.headers, headers, MASK),
    broker: broker && readDestination(broker),
  });
  checkAgainstAuthentication(after.headers, after.authentication);
  return after;
}

/** The given authentication, checked for completeness. None if its type is blank or absent. */
function authentication(
  context: Pick<ReadContext, 'checkUrl'>,
  given: NonNullable<Input['authentication']>,
): EndpointAuthentication | null {
  const { type } = given;
  if (type === undefined || type === '') return null;
  const details = given[type];
  const field = `authentication.${type}`;
  if (details === undefined) throw invalid(field, `is required when authentication.type is ${type}`);
  if (type === 'api_key' && given.api_key !== undefined) {
    const { header_name, header_value } = given.api_key;
    if (!isHeaderName(header_name)) throw invalid(`${field}.header_name`, 'is not a legal header name');
    if (isConnectionHeader(header_name)) throw invalid(`${field}.header_name`, OF_CONNECTION);
    if (!isHeaderValue(header_value))
      throw invalid(`${field}.header_value`, 'contains characters that a header value cannot have');
  }
  if (type === 'oauth2' && given.oauth2 !== undefined) {
    return { type, oauth2: checkedOAuth2(context, field, given.oauth2) };
  }
  return { type, [type]: details } as EndpointAuthentication;
}

/** Valid settings, as far as that is known without the token server, without blank ones. */
export function checkedOAuth2(
  context: Pick<ReadContext, 'checkUrl'>,
  field: string,
  given: Static<typeof OAuth2>,
): OAuth2Config {
  checkUrl(context, `${field}.url`, given.url);
  const settings = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== ''),
  ) as unknown as OAuth2Config;
  if (settings.authentication_type === 'shared_secret') {
    if (settings.client_secret === undefined)
      throw invalid(`${field}.client_secret`, 'is required when authentication_type is shared_secret');
    return settings;
  }
  if (settings.signing_key === undefined)
    throw invalid(`${field}.signing_key`, 'is required when authentication_type is client_assertion');
  return settings;
}

/** A key that signs. Only that shows that it fits the algorithm. */
export async function checkSigningKey(
  field: string,
  given: Static<typeof OAuth2> | undefined,
): Promise<void> {
  if (given?.authentication_type !== 'client_assertion' || given.signing_key === undefined) return;
  const claims = { issuer: '', subject: '', audience: '' };
  const tried = await clientAssertion(given.signing_key, given.signing_algorithm || 'ES256', claims);
  if (tried.kind === 'invalid_key') throw invalid(`${field}.signing_key`, tried.message);
}

/** Both parts, which must match. Both empty removes it. A masked key keeps the stored one. */
function clientCertificate(
  known: EndpointSecrets['mtls_client_cert'],
  given: { client_cert?: string; client_key?: string },
): EndpointSecrets['mtls_client_cert'] {
  const certificate = given.client_cert ?? '';
  const key = given.client_key === MASK ? (known?.client_key ?? '') : (given.client_key ?? '');
  if (certificate === '' && key === '') return null;
  const at = (part: string) => `mtls_client_cert.${part}`;
  if (certificate === '') throw invalid(at('client_cert'), 'is required with client_key');
  if (key === '') throw invalid(at('client_key'), 'is required with client_cert');
  const read = <T>(part: string, reader: () => T): T => {
    try {
      return reader();
    } catch {
      throw invalid(at(part), 'cannot be read; it must be PEM');
    }
  };
  const parsed = read('client_cert', () => new X509Certificate(certificate));
  const privateKey = read('client_key', () => createPrivateKey(key));
  if (!parsed.checkPrivateKey(privateKey))
    throw invalid(at('client_key'), 'does not belong to the certificate');
  return { client_cert: certificate, client_key: key };
}

function signingKey(
  known: EndpointSecrets['signing_key'],
  given: { type?: string },
): EndpointSecrets['signing_key'] {
  if (given.type === undefined || given.type === '') return null;
  if (known !== null) return known;
  const { privateKeyPem, publicKey } = generateEd25519();
  return { private_key: privateKeyPem, public_key: publicKey };
}
