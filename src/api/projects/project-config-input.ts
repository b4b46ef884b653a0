import type { Static, TObject } from 'typebox';
import { mayBeVisible } from '../../domain/config/credential-headers.ts';
import { ProjectConfig } from '../../domain/config/project-config.ts';
import { signatureHashes } from '../../domain/config/signature-hash.ts';
import { invalid } from '../../domain/errors.ts';
import { isConnectionHeader, isHeaderName } from '../../domain/http-header.ts';
import type { IdFactory } from '../../domain/ids.ts';
import { unsentMetaEvents } from '../../domain/meta-event.ts';
import { retentionOf } from '../../ingest/event-times.ts';
import { parseGoDuration } from '../../platform/time/duration.ts';
import { oneOf, Text, Type } from '../../platform/type.ts';
import { generateSecret } from '../../signing/signing-secrets.ts';
import { iso, parseTime } from '../http/fields.ts';
import { Problems } from '../http/problems.ts';
import { updated } from '../http/updated.ts';
import { checkPortalTheme } from './check-portal-theme.ts';
import { mergeStrategy } from './merge-strategy.ts';

/** A project's config in a request: any part of it, and signature versions without generated ids. */
const { signature, meta_event, ...others } = ProjectConfig.properties;
const { strategy, ratelimit, ssl, circuit_breaker, retention_policy, portal, ...plain } = others;
const Plain = Type.Object(plain);
const part = <T extends TObject>(group: T) => Type.Optional(Type.Partial(group));

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
  ...Type.Partial(Plain).properties,
  strategy: part(strategy),
  ratelimit: part(ratelimit),
  ssl: part(ssl),
  signature: Type.Optional(SignatureInput),
  meta_event: Type.Optional(
    Type.Object({
      ...Type.Partial(meta_event).properties,
      pub_sub: Type.Optional(Type.Unknown({ description: 'Has no effect: meta events are sent by http.' })),
    }),
  ),
  circuit_breaker: part(circuit_breaker),
  retention_policy: part(retention_policy),
  portal: part(portal),
});
export type PartialProjectConfig = Static<typeof PartialProjectConfig>;

/** Headers that every delivery has under their own names. */
const RESERVED_HEADERS = /^(webhook-(id|timestamp|signature)|content-type)$/i;

/** The config merged with the given parts, key by key. Errors name the wrong field. */
export function mergeProjectConfig(
  base: ProjectConfig,
  given: PartialProjectConfig,
  deps: { ids: IdFactory; now(): number; retentionMs: number },
): ProjectConfig {
  refuseUnknown(given);
  refuseUnsent(base.meta_event.event_type, given.meta_event?.event_type ?? []);
  const retention_policy = mergeRetention(base.retention_policy, given.retention_policy ?? {});
  const retentionMs = retentionOf({ retention_policy }, deps.retentionMs);
  const merged: ProjectConfig = {
    ...updated<Static<typeof Plain>>(base, Plain, given),
    strategy: mergeStrategy(base.strategy, given.strategy ?? {}, retentionMs),
    ratelimit: updated(base.ratelimit, ratelimit, given.ratelimit ?? {}),
    ssl: updated(base.ssl, ssl, given.ssl ?? {}),
    meta_event: updated(base.meta_event, meta_event, given.meta_event ?? {}),
    circuit_breaker: updated(base.circuit_breaker, circuit_breaker, given.circuit_breaker ?? {}),
    retention_policy,
    signature: mergeSignature(base.signature, given.signature ?? {}, deps),
    portal: updated(base.portal, portal, given.portal ?? {}),
  };
  if (merged.meta_event.is_enabled && merged.meta_event.secret === '')
    merged.meta_event.secret = generateSecret();
  checkProjectConfig(merged);
  return merged;
}

/** Keys that Convoy's clients send and that have no effect here. */
const IGNORED = new Set([
  'config.replay_attacks',
  'config.is_retention_policy_enabled',
  'config.signature.hash',
]);
const MAX_NAMED = 10;
const MAX_NAME_CHARS = 100;

/** Otherwise a typo in a setting would seem to work. */
function refuseUnknown(given: PartialProjectConfig): void {
  const unknown = unknownKeys(PartialProjectConfig as SchemaPart, given, 'config').filter(
    (name) => !IGNORED.has(name),
  );
  if (unknown.length === 0) return;
  const problems = new Problems();
  for (const name of unknown.slice(0, MAX_NAMED))
    problems.add(name.slice(0, MAX_NAME_CHARS), 'is not a setting of a project');
  problems.throwIfAny();
}

/** A stored name may be written back. */
function refuseUnsent(stored: readonly string[], given: readonly string[]): void {
  const name = given.find((one) => unsentMetaEvents.includes(one) && !stored.includes(one));
  if (name !== undefined)
    throw invalid('config.meta_event.event_type', `${name} is not sent yet; leave it out`);
}

interface SchemaPart {
  type?: unknown;
  properties?: Record<string, SchemaPart>;
  items?: SchemaPart;
}

function unknownKeys(schema: SchemaPart, value: unknown, path: string): string[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => unknownKeys(schema.items ?? {}, item, `${path}.${index}`));
  const { properties } = schema;
  if (properties === undefined || typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, child]) => {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    return known === undefined ? [`${path}.${name}`] : unknownKeys(known, child, `${path}.${name}`);
  });
}

/** A policy without the flag applies, because convoy-go does not have the flag. */
function mergeRetention(
  base: ProjectConfig['retention_policy'],
  { policy, retention_policy_enabled }: Partial<ProjectConfig['retention_policy']>,
): ProjectConfig['retention_policy'] {
  const isEnabled = retention_policy_enabled ?? (policy === undefined ? undefined : policy !== '');
  return updated(base, ProjectConfig.properties.retention_policy, {
    policy,
    retention_policy_enabled: isEnabled,
  });
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
    if (!isHeaderName(name) || RESERVED_HEADERS.test(name) || isConnectionHeader(name))
      throw invalid(field, `"${name}" cannot be used as a header name`);
  }
  for (const name of config.visible_headers) {
    if (!isHeaderName(name)) throw invalid('config.visible_headers', `"${name}" is not a header name`);
    if (!mayBeVisible(name))
      throw invalid('config.visible_headers', `"${name}" is always a credential and never shown`);
  }
  const { search_policy, disable_after, retention_policy } = config;
  const durations = { search_policy, disable_after, 'retention_policy.policy': retention_policy.policy };
  for (const [field, text] of Object.entries(durations)) {
    if (text !== '' && (parseGoDuration(text) ?? 0) <= 0)
      throw invalid(`config.${field}`, 'must be a duration such as 720h');
  }
  if (retention_policy.retention_policy_enabled && retention_policy.policy === '')
    throw invalid('config.retention_policy.policy', 'is required if the policy is enabled');
  if (config.meta_event.is_enabled && !/^https?:\/\/[^/]/.test(config.meta_event.url)) {
    throw invalid('config.meta_event.url', 'must be an http or https URL when meta events are enabled');
  }
  checkPortalTheme(config.portal);
}
