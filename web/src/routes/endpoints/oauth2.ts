import type { OAuth2 } from 'posthorn-client';
import { fieldJson } from '../../data/explain-error.ts';
import type { Choice } from '../../ui/controls/fields.tsx';
import { asTyped, formText } from '../../ui/controls/form-text.ts';

/** Inputs are named as the API names the fields, so that its errors find them. */
export const OAUTH2 = 'authentication.oauth2';

export const ALGORITHMS: readonly Choice[] = [
  ['', 'ES256'],
  ...['ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'].map(
    (name) => [name, name] as const,
  ),
];

export const UNITS: readonly Choice[] = [
  ['', 'Seconds, the default'],
  ['milliseconds', 'Milliseconds'],
  ['minutes', 'Minutes'],
  ['hours', 'Hours'],
];

const TEXTS = [
  'url',
  'client_id',
  'authentication_type',
  'scope',
  'audience',
  'grant_type',
  'signing_algorithm',
  'issuer',
  'subject',
  'expiry_time_unit',
] as const;
const NAMES = ['access_token', 'token_type', 'expires_in'] as const;

/** The settings of a form. A key that was not typed is the stored one. */
export function oauth2Of(form: FormData, stored: OAuth2 | undefined): OAuth2 {
  const given = <K extends string>(keys: readonly K[], at: string) =>
    Object.fromEntries(
      keys.map((key) => [key, formText(form, `${at}.${key}`)]).filter(([, text]) => text !== ''),
    ) as Partial<Record<K, string>>;
  const names = given(NAMES, `${OAUTH2}.field_mapping`);
  const isSecret = formText(form, `${OAUTH2}.authentication_type`) === 'shared_secret';
  const key = isSecret ? undefined : signingKey(form, stored);
  return {
    ...given(TEXTS, OAUTH2),
    ...(isSecret && { client_secret: asTyped(form, `${OAUTH2}.client_secret`) }),
    ...(key !== undefined && { signing_key: key }),
    ...(Object.keys(names).length > 0 && { field_mapping: names }),
  } as OAuth2;
}

function signingKey(form: FormData, stored: OAuth2 | undefined): OAuth2['signing_key'] {
  const name = `${OAUTH2}.signing_key`;
  const text = formText(form, name);
  if (text === '') return stored?.signing_key;
  return fieldJson(name, text) as Record<string, unknown>;
}
