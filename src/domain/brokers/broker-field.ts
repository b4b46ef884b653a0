/**
 * One setting of a kind of broker, and the checks of its value. The API and the forms of the pages use the same code and so
 * say the same sentences.
 */
export interface BrokerField {
  readonly label: string;
  readonly kind: 'text' | 'secret' | 'choice' | 'flag' | 'list' | 'bytes';
  readonly hint?: string;
  /** The values of a choice. */
  readonly of?: readonly string[];
  /** Always, or on a condition. */
  readonly required?: true | Condition;
  /** It has a meaning only then. A required field must be empty otherwise. */
  readonly when?: Condition;
  /** A field that is not given is not stored either. */
  readonly isLeftOut?: true;
  /** A text that is not given is null, other than an empty one. */
  readonly isNullable?: true;
  /** The value of a text that is not given, which may depend on another field. */
  readonly usual?: string | { readonly by: string; readonly values: Readonly<Record<string, string>> };
  readonly maxChars?: number;
  /** The protocol has no room for more. */
  readonly maxBytes?: number;
  readonly rule?: { readonly pattern: RegExp; readonly says: string; readonly only?: BrokerUse };
  /** It is a place that people and records show, so it must not hold a credential. */
  readonly isShown?: true;
  /** Records and people with few rights see it, as it was given. */
  readonly isOpen?: true;
  /** Absent: both have it. */
  readonly only?: BrokerUse;
  /** Another name that requests may use for it. */
  readonly alias?: string;
  /** It asks for credentials of the machine at this cloud, which the operator has to allow. */
  readonly cloud?: 'aws' | 'google';
}

export type BrokerUse = 'source' | 'destination';
export type BrokerFields = Readonly<Record<string, BrokerField>>;

/** Another field has one of these values. Empty: it is not given. */
interface Condition {
  readonly field: string;
  readonly is: readonly string[];
}

/** The text of another field, or its default. */
export type TextOf = (name: string) => string;

export const MAX_CHARS = 1024;
const MAX_BYTES = 65_536;
const HAS_CREDENTIAL = 'must have no user name, password, query or fragment: it is shown';
const NOT_BYTES = `must be base64 or an array of byte values, ${MAX_BYTES} bytes at most`;

/** Names of the fields of any kind that hold a credential. */
export const isSecretField = ({ kind }: BrokerField): boolean => kind === 'secret' || kind === 'bytes';

export const textsOf =
  (fields: BrokerFields, valueOf: (name: string) => unknown): TextOf =>
  (name) => {
    const [value, usual] = [valueOf(name), fields[name]?.usual];
    return typeof value === 'string' && value !== '' ? value : typeof usual === 'string' ? usual : '';
  };

const holds = ({ field, is }: Condition, textOf: TextOf): boolean => is.includes(textOf(field));

export const hasMeaning = ({ when }: BrokerField, textOf: TextOf): boolean =>
  when === undefined || holds(when, textOf);

/** The default. Empty: none. */
export const usualOf = ({ usual = '' }: BrokerField, textOf: TextOf): string =>
  typeof usual === 'string' ? usual : (usual.values[textOf(usual.by)] ?? '');

export const isRequired = ({ required }: BrokerField, textOf: TextOf): boolean =>
  required === true || (required !== undefined && holds(required, textOf));

/** The place in a value, such as that of an item, and the end of a sentence about it. */
type Problem = readonly [place: string, problem: string];

/** The first problem of a value. Bytes are base64. */
export function problemOf(field: BrokerField, value: unknown, textOf: TextOf): Problem | undefined {
  const texts = Array.isArray(value) ? value : typeof value === 'string' && value !== '' ? [value] : [];
  const { required, when } = field;
  if (when !== undefined && !holds(when, textOf))
    return texts.length > 0 && required !== undefined ? ['', meaningless(when)] : undefined;
  if (texts.length === 0) return isRequired(field, textOf) ? ['', missing(required)] : undefined;
  for (const [index, text] of texts.entries()) {
    const problem = problemOfText(field, String(text));
    if (problem !== undefined) return [field.kind === 'list' ? `.${index}` : '', problem];
  }
  return undefined;
}

/** One that another field could stand for says so. */
const missing = (required: BrokerField['required']): string =>
  typeof required === 'object' && required.is.every((value) => value === '')
    ? `is required unless ${required.field} is given`
    : 'is required';

function meaningless({ field, is }: Condition): string {
  const values = is.filter((value) => value !== '');
  return values.length === 0
    ? `must be empty when ${field} is given`
    : `must be empty unless ${field} is ${values.join(' or ')}`;
}

function problemOfText(
  { kind, rule, isShown, maxChars = MAX_CHARS, maxBytes = Number.POSITIVE_INFINITY }: BrokerField,
  text: string,
): string | undefined {
  if (kind === 'bytes') return isBase64(text) ? undefined : NOT_BYTES;
  if (Array.from(text).length > maxChars) return `must not have more than ${maxChars} characters`;
  if (rule?.pattern.test(text) === false) return rule.says;
  if (isShown === true && /[@?#]/.test(text)) return HAS_CREDENTIAL;
  if (new TextEncoder().encode(text).length > maxBytes) return `must have at most ${maxBytes} bytes`;
  return undefined;
}

/** With white space anywhere, and with or without padding. */
function isBase64(text: string): boolean {
  const digits = text.replace(/\s+/g, '');
  const { length } = digits.replace(/=+$/, '');
  return /^[\w+/-]+={0,2}$/.test(digits) && length % 4 !== 1 && (length * 3) / 4 <= MAX_BYTES;
}
