import type { SourceVerifier } from '../../domain/config/source.ts';
import { headerValues, type IngestRequest } from '../request/ingest-request.ts';

export type VerifyResult = { ok: true } | { ok: false; reason: string };

/** Decides whether a request comes from the source's sender. Never throws; reasons never contain a secret. */
export type Verifier = (request: IngestRequest, nowMs: number) => VerifyResult;

export type VerifierConfig = SourceVerifier;

/** Far above any signature header (a dozen of Standard Webhooks' take 564 bytes). It bounds our work. */
const maxHeaderLength = 8192;

export const verified: VerifyResult = { ok: true };

export function refused(reason: string): VerifyResult {
  return { ok: false, reason };
}

/** A source whose settings cannot verify anything refuses every request. */
export function refuseAll(reason: string): Verifier {
  return () => ({ ok: false, reason });
}

type HeaderReading = { ok: true; value: string } | { ok: false; reason: string };

/** The one value of a required header. Absent, empty, repeated and over-long are refused. */
export function readHeader(request: IngestRequest, name: string): HeaderReading {
  const values = headerValues(request.headers, name);
  const [value] = values;
  if (value === undefined) return { ok: false, reason: `header ${name} is missing` };
  if (values.length > 1) return { ok: false, reason: `header ${name} was sent more than once` };
  if (value === '') return { ok: false, reason: `header ${name} is empty` };
  if (value.length > maxHeaderLength) return { ok: false, reason: `header ${name} is too long` };
  return { ok: true, value };
}

const toleranceSeconds = 300;

/** Refuses a signed time more than five minutes from ours, so that a captured request expires. */
export function checkTimestamp(seconds: string, nowMs: number): VerifyResult {
  if (!/^\d{1,12}$/.test(seconds)) return refused('the signed timestamp is not a number of seconds');
  if (Math.abs(nowMs / 1000 - Number(seconds)) > toleranceSeconds) {
    return refused(`the signed timestamp is more than ${toleranceSeconds} seconds away from the time here`);
  }
  return verified;
}

/** Checks a time in milliseconds. */
export function checkTimestampMs(milliseconds: string, nowMs: number): VerifyResult {
  if (!/^\d{1,15}$/.test(milliseconds))
    return refused('the signed timestamp is not a number of milliseconds');
  if (Math.abs(nowMs - Number(milliseconds)) > toleranceSeconds * 1000) {
    return refused(`the signed timestamp is more than ${toleranceSeconds} seconds away from the time here`);
  }
  return verified;
}
