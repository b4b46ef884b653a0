import type { SourceRow } from '../../store/config/sources.ts';
import type { Payload } from '../request/body.ts';
import type { IngestRequest } from '../request/ingest-request.ts';
import { compileVerifier, verifiesBySignature } from '../verify/compile-verifier.ts';
import { findPreset } from '../verify/presets.ts';
import type { HandshakeAnswer } from '../verify/url-handshake.ts';
import type { Verifier } from '../verify/verifier.ts';
import { compileHeaderPolicy, type HeaderPolicy } from './forward-headers.ts';
import { compileIdempotencyKey } from './idempotency.ts';
import { type EventTypeReading, extractEventType, type Location, parseLocation } from './location.ts';

/** A source compiled for requests, once per version of its row. */
export interface CompiledSource {
  verify: Verifier;
  /** A signature covers the body, and no header. */
  isSigned: boolean;
  /** The code of the error that a request gets which is not verified. */
  refusal: 'verification_failed' | 'signature_refused';
  /** The answer to a question about the URL, or null. */
  handshake(payload: unknown): HandshakeAnswer | null;
  headers: HeaderPolicy;
  idempotencyKey(request: IngestRequest, payload: Payload): string | null;
  eventType(request: IngestRequest, payload: Payload): EventTypeReading;
}

const compiled = new WeakMap<SourceRow, CompiledSource>();

export function compileSource(row: SourceRow): CompiledSource {
  let source = compiled.get(row);
  if (source === undefined) {
    source = compile(row);
    compiled.set(row, source);
  }
  return source;
}

function compile(row: SourceRow): CompiledSource {
  const { verifier } = row.secret.reveal();
  const verified = { provider: row.provider, verifier };
  const preset = findPreset(row.provider);
  const secret = verifier.type === 'hmac' ? verifier.hmac.secret : '';
  return {
    verify: compileVerifier(verified),
    isSigned: verifiesBySignature(verified),
    refusal: preset?.refusesWith401 === true ? 'signature_refused' : 'verification_failed',
    handshake: (payload) => preset?.handshake?.(payload, secret) ?? null,
    headers: compileHeaderPolicy({ ...verified, forward_headers: row.forward_headers }),
    idempotencyKey: compileIdempotencyKey(row.id, row.idempotency_keys.flatMap(location)),
    eventType: compileEventType(row),
  };
}

/** At a location that a person gave, a value is required. Else a request without a type gets the source's mask id. */
function compileEventType(row: SourceRow): CompiledSource['eventType'] {
  const [place] = row.event_type_location === '' ? [] : location(row.event_type_location);
  const preset = findPreset(row.provider);
  const unnamed = { ok: true, eventType: row.mask_id } as const;
  if (place === undefined) {
    const read = preset?.eventTypeOf?.read;
    if (read === undefined) return () => unnamed;
    return (_request, payload) => {
      const eventType = payload.kind === 'opaque' ? null : read(payload.value);
      return eventType === null ? unnamed : { ok: true, eventType };
    };
  }
  const isUsual = row.event_type_location === preset?.eventTypeLocation;
  return (request, payload) => {
    const reading = extractEventType(place, request, payload);
    return !reading.ok && isUsual ? unnamed : reading;
  };
}

/** Locations were checked when the source was written. */
function location(text: string): Location[] {
  const reading = parseLocation(text);
  return reading.ok ? [reading.location] : [];
}
