import type { SourceRow } from '../../store/config/sources.ts';
import type { Payload } from '../request/body.ts';
import type { IngestRequest } from '../request/ingest-request.ts';
import { compileVerifier } from '../verify/compile-verifier.ts';
import { findPreset } from '../verify/presets.ts';
import type { Verifier } from '../verify/verifier.ts';
import { compileHeaderPolicy, type HeaderPolicy } from './forward-headers.ts';
import { compileIdempotencyKey } from './idempotency.ts';
import { type Location, parseLocation } from './location.ts';

/** A source compiled for requests, once per version of its row. */
export interface CompiledSource {
  verify: Verifier;
  headers: HeaderPolicy;
  idempotencyKey(request: IngestRequest, payload: Payload): string | null;
  eventType: Location | null;
  /** The location is the provider's usual one. A request without a value there is still accepted. */
  isUsualLocation: boolean;
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
  const verified = { provider: row.provider, verifier: row.secret.reveal().verifier };
  return {
    verify: compileVerifier(verified),
    headers: compileHeaderPolicy({ ...verified, forward_headers: row.forward_headers }),
    idempotencyKey: compileIdempotencyKey(row.id, row.idempotency_keys.flatMap(location)),
    eventType: row.event_type_location === '' ? null : (location(row.event_type_location)[0] ?? null),
    isUsualLocation: row.event_type_location === findPreset(row.provider)?.eventTypeLocation,
  };
}

/** Locations were checked when the source was written. */
function location(text: string): Location[] {
  const reading = parseLocation(text);
  return reading.ok ? [reading.location] : [];
}
