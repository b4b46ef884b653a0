/**
 * Attributes of CloudEvents 1.0 as headers, which is their binary form in HTTP. An event keeps them so: filters and functions
 * read them as headers, and deliveries carry them.
 */
export const CLOUD_PREFIX = 'ce-';

/** The form in which an endpoint gets its deliveries. Empty: none of its own. */
export const cloudForms = ['', 'binary', 'structured'] as const;
export type CloudEventForm = (typeof cloudForms)[number];

/** The version of the specification. */
export const SPEC_VERSION = '1.0';

const PLAIN = /^[\x21\x23\x24\x26-\x7e]*$/;
const ESCAPED = /[^\x21\x23\x24\x26-\x7e]+/g;

/** The value of an attribute as a header: percent-encoded UTF-8 outside the visible characters of ASCII, `"` and `%`. */
export function attributeHeader(value: string): string {
  if (PLAIN.test(value)) return value;
  return value.replace(ESCAPED, (part) =>
    [...Buffer.from(part)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

/** The text that a header stands for. Senders may quote a value. A percent sign that begins no UTF-8 stands for itself. */
export function attributeText(header: string): string {
  const text = /^".*"$/.test(header) ? header.slice(1, -1).replaceAll(/\\(.)/g, '$1') : header;
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
}
