import type { Static } from 'typebox';
import type { SourceContent } from '../../control/source-changes.ts';
import {
  isResponseType,
  RESPONSE_TYPES,
  type SourceSecrets,
  type SourceVerifier,
  type VerifierInput,
  verifiers,
} from '../../domain/config/source.ts';
import { isConnectionHeader, isHeaderName, OF_CONNECTION } from '../../domain/http-header.ts';
import { usualValues } from '../../domain/resources/fields.ts';
import { type SourceFields, sourceFields } from '../../domain/resources/source-fields.ts';
import { parseEventTypeLocation, parseLocation } from '../../ingest/source/location.ts';
import { findPreset } from '../../ingest/verify/presets.ts';
import { randomText } from '../../platform/random.ts';
import { Secret } from '../../platform/secret.ts';
import { Problems } from '../http/problems.ts';
import { IS_REQUIRED, readFields } from '../http/read-group.ts';
import { updated } from '../http/updated.ts';
import { readPubSub } from './pub-sub-input.ts';
import { readChangeStream } from './read-change-stream.ts';
import { enabledSince, readSchedule } from './read-schedule.ts';
import { type CreateSource, UpdateSource } from './source-schema.ts';

type Input = Static<typeof CreateSource> | Static<typeof UpdateSource>;

const NO_SECRETS: SourceSecrets = {
  verifier: { type: 'noop' },
  pub_sub: null,
  db_change_stream: null,
  schedule: null,
};
const MASK_CHARS = 16;
const MAX_RESPONSE_BYTES = 51_200;

export function newSource(input: Static<typeof CreateSource>, nowMs: number): SourceContent {
  const provider = input.provider ?? '';
  const made: SourceContent = {
    ...usualValues(sourceFields),
    type: input.type,
    provider,
    mask_id: randomText(MASK_CHARS),
    event_type_location: findPreset(provider)?.eventTypeLocation ?? '',
    provider_config: provider === 'twitter' ? { twitter: { crc_verified_at: null } } : null,
    secret: new Secret(NO_SECRETS),
  };
  return changedSource(made, input, nowMs);
}

/**
 * The source after the change, checked as a whole, because its parts depend on each other. The verifier also stays if it is
 * not named. Omitting it must not make a source accept everything.
 */
export function changedSource(fields: SourceContent, input: Input, nowMs: number): SourceContent {
  const problems = new Problems();
  const known = { ...NO_SECRETS, ...fields.secret.reveal() };
  const { custom_response, verifier: given, pub_sub: broker } = input;
  const after = updated(fields, UpdateSource, {
    ...input,
    custom_response: custom_response && { body: '', content_type: '', ...custom_response },
  });
  // Only sources of their type have such settings. Clients send empty ones with the other types.
  const isBroker = after.type === 'pub_sub';
  const stream = after.type === 'db_change_stream' ? input.db_change_stream : undefined;
  const timed = { known: known.schedule ?? null, nowMs };
  const secrets = updated(known, UpdateSource, {
    verifier: given && readVerifier(given, fields.provider, problems),
    pub_sub: isBroker ? broker && readPubSub(broker, problems) : null,
    db_change_stream:
      after.type === 'db_change_stream' ? stream && readChangeStream(stream, fields, problems) : null,
    schedule:
      after.type === 'schedule' ? input.schedule && readSchedule(input.schedule, timed, problems) : null,
  });
  const { verifier } = secrets;
  if (isBroker && broker === undefined && known.pub_sub === null)
    problems.add('pub_sub', 'is required when type is pub_sub');
  if (after.type === 'schedule' && !secrets.schedule)
    problems.add('schedule', 'is required when type is schedule');
  checkProvider(fields.provider, verifier, problems);
  checkLocations(after, verifier, problems);
  checkHeadersAndResponse(after, problems);
  // A source that was stored with another type can be changed in other ways.
  if (!isResponseType(custom_response?.content_type ?? ''))
    problems.add('custom_response.content_type', `must be ${RESPONSE_TYPES}`);
  problems.throwIfAny();
  const enabled = { was: fields.is_disabled, is: after.is_disabled, nowMs };
  const schedule = enabledSince(secrets.schedule ?? null, enabled);
  return { ...after, secret: new Secret({ ...secrets, schedule }) };
}

function readVerifier(given: VerifierInput, provider: string, problems: Problems): SourceVerifier {
  const type = given.type || (provider === '' ? 'noop' : 'hmac');
  if (type === 'noop') return { type };
  const path = `verifier.${type}`;
  const settings = given[type];
  if (settings === undefined) problems.add(path, `is required when verifier.type is ${type}`);
  // A preset has all but the secret, and checkProvider says whether it needs that.
  const isComplete = provider === '' || type !== 'hmac';
  const add = (field: string, problem: string) => {
    if (settings !== undefined && (isComplete || problem !== IS_REQUIRED)) problems.add(field, problem);
  };
  return { type, [type]: readFields(verifiers[type], settings ?? {}, { path, add }) } as SourceVerifier;
}

function checkProvider(provider: string, verifier: SourceVerifier, problems: Problems): void {
  const preset = findPreset(provider);
  if (preset === undefined || !preset.needsSecret) return;
  if (verifier.type !== 'hmac' || verifier.hmac.secret === '')
    problems.add('verifier.hmac.secret', `is required for ${provider}: the ${preset.secretName}`);
}

function checkLocations(fields: SourceFields, verifier: SourceVerifier, problems: Problems): void {
  fields.idempotency_keys.forEach((text, index) => {
    const reading = parseLocation(text);
    if (!reading.ok) problems.add(`idempotency_keys.${index}`, reading.message);
  });
  if (fields.event_type_location === '') return;
  const reading = parseEventTypeLocation(fields.event_type_location, { provider: fields.provider, verifier });
  if (!reading.ok) problems.add('event_type_location', reading.message);
}

function checkHeadersAndResponse(fields: SourceFields, problems: Problems): void {
  fields.forward_headers.forEach((name, index) => {
    if (!isHeaderName(name)) problems.add(`forward_headers.${index}`, 'is not a legal header name');
    else if (isConnectionHeader(name)) problems.add(`forward_headers.${index}`, OF_CONNECTION);
  });
  if (Buffer.byteLength(fields.custom_response.body) > MAX_RESPONSE_BYTES)
    problems.add('custom_response.body', `is larger than ${MAX_RESPONSE_BYTES} bytes`);
}
