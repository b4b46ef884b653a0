/**
 * A payload as JSON text, for functions and the API. A payload that is not JSON becomes a string of its text,
 * or of its base64 if it is not text.
 */
export function payloadText(payload: Buffer, contentType: string | null): string {
  const text = payload.toString();
  if (contentType === null) return text;
  const isText = Buffer.from(text).equals(payload);
  return JSON.stringify(isText ? text : payload.toString('base64'));
}
