import { type Static, Type } from 'typebox';
import { parseGoDuration } from '../domain/duration.ts';
import type { IdFactory } from '../domain/ids.ts';
import { CircuitBreaker, MetaEventConfig, ProjectConfig, Strategy } from '../domain/project-config.ts';
import { signatureHashes } from '../domain/signature-hash.ts';
import { generateSecret } from '../signing/secrets.ts';
import { invalid, iso, oneOf, parseTime, Text } from './fields.ts';

/** A project's config as it is sent: any part of it, and signature versions without the ids we give them. */
const { signature, ratelimit, ssl } = ProjectConfig.properties;
const plain = Type.Omit(ProjectConfig, [
  'signature',
  'meta_event',
  'strategy',
  'ratelimit',
  'ssl',
  'circuit_breaker',
]);

const SignatureInput = Type.Object({
  header: Type.Optional(Text(128)),
  versions: Type.Optional(
    Type.Array(
      Type.Object({
        uid: Type.Optional(Type.String()),
        hash: oneOf(signatureHashes),
        encoding: oneOf(['hex', 'base64']),
        created_at: Type.Optional(Type.String()),
      }),
      { maxItems: 10 },
    ),
  ),
  schemes: Type.Optional(signature.properties.schemes),
});

export const PartialProjectConfig = Type.Object({
  ...Type.Partial(plain).properties,
  strategy: Type.Optional(Type.Partial(Strategy)),
  ratelimit: Type.Optional(Type.Partial(ratelimit)),
  ssl: Type.Optional(Type.Partial(ssl)),
  signature: Type.Optional(SignatureInput),
  meta_event: Type.Optional(Type.Partial(MetaEventConfig)),
  circuit_breaker: Type.Optional(Type.Partial(CircuitBreaker)),
});
export type PartialProjectConfig = Static<typeof PartialProjectConfig>;

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const RESERVED_HEADERS =
  /^(webhook-(id|timestamp|signature)|content-type|content-length|host|connection|transfer-encoding)$/i;

/** The config with the given parts put over it, key by key; says which field is wrong if one is. */
export function mergeProjectConfig(
  base: ProjectConfig,
  given: PartialProjectConfig,
  deps: { ids: IdFactory; now(): number },
): ProjectConfig {
  const merged: ProjectConfig = {
    ...base,
    ...given,
    strategy: { ...base.strategy, ...given.strategy },
    ratelimit: { ...base.ratelimit, ...given.ratelimit },
    ssl: { ...base.ssl, ...given.ssl },
    meta_event: { ...base.meta_event, ...given.meta_event },
    circuit_breaker: { ...base.circuit_breaker, ...given.circuit_breaker },
    signature: mergeSignature(base.signature, given.signature ?? {}, deps),
  };
  if (merged.meta_event.is_enabled && merged.meta_event.secret === '')
    merged.meta_event.secret = generateSecret();
  checkProjectConfig(merged);
  return merged;
}

function mergeSignature(
  base: ProjectConfig['signature'],
  given: Static<typeof SignatureInput>,
  deps: { ids: IdFactory; now(): number },
): ProjectConfig['signature'] {
  const createdAt = iso(deps.now());
  const versions = (given.versions ?? []).map((version) => ({
    uid: version.uid || deps.ids.next(),
    hash: version.hash,
    encoding: version.encoding,
    created_at: version.created_at
      ? iso(parseTime('config.signature.versions.created_at', version.created_at))
      : createdAt,
  }));
  return {
    header: given.header || base.header,
    versions: versions.length > 0 ? versions : base.versions,
    schemes: given.schemes ?? base.schemes,
  };
}

function checkProjectConfig(config: ProjectConfig): void {
  const headers = {
    'config.signature.header': config.signature.header,
    'config.request_id_header': config.request_id_header,
  };
  for (const [field, name] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name) || RESERVED_HEADERS.test(name))
      throw invalid(field, `"${name}" cannot be used as a header name`);
  }
  for (const field of ['search_policy', 'retention_policy'] as const) {
    const text = config[field];
    if (text !== '' && (parseGoDuration(text) ?? 0) <= 0)
      throw invalid(`config.${field}`, 'must be a duration such as 720h');
  }
  if (config.meta_event.is_enabled && !/^https?:\/\/[^/]/.test(config.meta_event.url)) {
    throw invalid('config.meta_event.url', 'must be an http or https URL when meta events are enabled');
  }
}
