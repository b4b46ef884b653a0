import { payloadText } from '../../domain/payload-text.ts';
import { RawJson } from '../../platform/json/raw-json.ts';
import { Type } from '../../platform/type.ts';

/** JSON exactly as received, number text and key order included. */
export const AnyJson = (description: string) => Type.Unsafe<RawJson>({ description });

export const HeaderValues = Type.Record(Type.String(), Type.Array(Type.String()));

export function payloadJson(payload: Buffer, contentType: string | null): RawJson {
  return new RawJson(payloadText(payload, contentType), payload);
}
