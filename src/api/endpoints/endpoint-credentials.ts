import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Static } from 'typebox';
import { clientAssertion } from '../../dispatch/client/client-assertion.ts';
import type { EndpointHeaders, EndpointSecrets } from '../../domain/config/endpoint.ts';
import type {
  EndpointAuthentication,
  OAuth2,
  OAuth2Config,
} from '../../domain/config/endpoint-authentication.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import { invalid } from '../../domain/errors.ts';
import {
  isConnectionHeader,
  isDeliveryHeader,
  isHeaderName,
  isHeaderValue,
  OF_CONNECTION,
} from '../../domain/http-header.ts';
import { generateEd25519 } from '../../signing/signing-secrets.ts';
import { checkUrl } from '../http/check-settings.ts';
import type { ReadContext } from '../http/context.ts';
import { MASK } from '../http/portal-view.ts';
import { updated } from '../http/updated.ts';
import { readDestination } from './broker-of-endpoint.ts';
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
    headers: headers && changedHeaders(known.headers, headers),
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

/** More would not fit into the 16 KiB that many servers read. */
const MAX_HEADERS = 32;
const MAX_HEADER_BYTES = 8192;

type Named = Pick<ProjectConfig, 'request_id_header'> & {
  signature: Pick<ProjectConfig['signature'], 'header'>;
};

/** Whether a delivery has a header of this name from us, in any case. */
function isOurs(name: string, { request_id_header, signature }: Named): boolean {
  const known = name.toLowerCase();
  if (isDeliveryHeader(known)) return true;
  return known === request_id_header.toLowerCase() || known === signature.header.toLowerCase();
}

/** Refuses headers that cannot be sent, or that would replace one of ours. Values are never quoted. */
export function checkEndpointHeaders(headers: EndpointHeaders, config: Named): void {
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) throw invalid('headers', `must be at most ${MAX_HEADERS}`);
  const names = new Set<string>();
  let bytes = 0;
  for (const [name, value] of entries) {
    const field = `headers.${name}`;
    if (!isHeaderName(name)) throw invalid(field, 'is not a legal header name');
    if (isConnectionHeader(name)) throw invalid(field, OF_CONNECTION);
    if (name.toLowerCase() === 'user-agent') throw invalid(field, 'is not allowed here; set user_agent');
    if (isOurs(name, config)) throw invalid(field, 'is a header of Posthorn and cannot be replaced');
    if (names.has(name.toLowerCase())) throw invalid(field, 'is given twice');
    if (!isHeaderValue(value)) throw invalid(field, 'contains characters that a header value cannot have');
    names.add(name.toLowerCase());
    bytes += name.length + value.length;
  }
  if (bytes > MAX_HEADER_BYTES)
    throw invalid('headers', `must have at most ${MAX_HEADER_BYTES} bytes in names and values`);
}

/** Refuses a header that the authentication of the endpoint also sends: only one of them could go. */
function checkAgainstAuthentication(
  headers: EndpointHeaders,
  authentication: EndpointAuthentication | null,
): void {
  if (authentication === null) return;
  const sent = authentication.type === 'api_key' ? authentication.api_key.header_name : 'authorization';
  const clash = Object.keys(headers).find((name) => name.toLowerCase() === sent.toLowerCase());
  if (clash !== undefined) throw invalid(`headers.${clash}`, 'is the header of authentication');
}

/** The headers after an update. A value that the caller saw masked keeps the stored one. */
function changedHeaders(known: EndpointHeaders, given: EndpointHeaders): EndpointHeaders {
  const stored = new Map(Object.entries(known).map(([name, value]) => [name.toLowerCase(), value]));
  const entries = Object.entries(given).map(([name, value]) => {
    if (value !== MASK) return [name, value];
    const kept = stored.get(name.toLowerCase());
    if (kept === undefined) throw invalid(`headers.${name}`, `has no stored value for ${MASK} to keep`);
    return [name, kept];
  });
  return Object.fromEntries(entries) as EndpointHeaders;
}
