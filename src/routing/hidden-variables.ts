import { HIDDEN } from '../domain/config/credential-headers.ts';

/**
 * Variables of a project in texts that a function made. The values are never stored or shown in clear where they can be
 * recognised. Shorter ones would also match harmless text.
 */
const MIN_CHARS = 6;

type Variables = Readonly<Record<string, string>>;

/** The values that occur in one of the texts. */
export function shownValues(texts: readonly string[], variables: Variables): string[] {
  return Object.values(variables).filter(
    (value) => value.length >= MIN_CHARS && texts.some((text) => text.includes(value)),
  );
}

/** The text without the values. */
export function hideValues(text: string, variables: Variables): string {
  return hideSecrets(text, shownValues([text], variables));
}

/** Longer ones first: one may contain another. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .toSorted((one, other) => other.length - one.length)
    .reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
}

/** JSON without the values. Inside a string a value may be escaped. */
export function hideInJson(json: string, variables: Variables): string {
  const escaped = Object.values(variables).map((value) => JSON.stringify(value).slice(1, -1));
  return hideValues(hideValues(json, variables), Object.fromEntries(escaped.entries()));
}
