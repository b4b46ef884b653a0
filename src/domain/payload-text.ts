/**
 * A payload as JSON text, as functions and the API see it: itself, or, where it is not JSON, a string of its text, or
 * of its base64 if it is no text.
 */
export function payloadText(payload: Buffer, contentType: string | null): string {
  const text = payload.toString();
  if (contentType === null) return text;
  const isText = Buffer.from(text).equals(payload);
  return JSON.stringify(isText ? text : payload.toString('base64'));
}
