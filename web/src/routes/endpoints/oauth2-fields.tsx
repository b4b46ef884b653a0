import type { Endpoint, OAuth2 } from 'posthorn-client';
import { useState } from 'react';
import { fieldJson } from '../../data/explain-error.ts';
import { nested } from '../../data/field-paths.ts';
import { type Form, FormFields, fieldValues, ResourceField, within } from '../../parts/resource-field.tsx';
import { TextArea } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { TokenTest } from './token-test.tsx';

const NAME = 'authentication.oauth2';
const SIGNING_KEY = `${NAME}.signing_key`;

const CLIENT = within(NAME, {
  url: {
    label: 'Token URL',
    kind: 'text',
    type: 'url',
    required: true,
    placeholder: 'https://id.example.com/token',
  },
  client_id: { label: 'Client ID', kind: 'text', required: true, autoComplete: 'off' },
  authentication_type: {
    label: 'Client authentication',
    kind: 'choice',
    choices: [
      ['shared_secret', 'Client secret'],
      ['client_assertion', 'Signed assertion (JWT)'],
    ],
  },
});

/** The fields of each way. A private key is never shown again. */
const SECRET = within(NAME, { client_secret: { label: 'Client secret', kind: 'secret', required: true } });
const ASSERTION = within(NAME, {
  signing_algorithm: {
    label: 'Algorithm',
    kind: 'choice',
    choices: [['', 'ES256'], 'ES384', 'ES512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
    isShort: true,
  },
  issuer: { label: 'Issuer', kind: 'text', hint: 'Optional. Defaults to the client ID.', isShort: true },
  subject: { label: 'Subject', kind: 'text', hint: 'Optional. Defaults to the client ID.', isShort: true },
});

const SCOPE = within(NAME, {
  scope: { label: 'Scope', kind: 'text', isShort: true },
  audience: { label: 'Audience', kind: 'text', isShort: true },
});

/** Fields that few token servers need. */
const ANSWER = within(NAME, {
  grant_type: { label: 'Grant type', kind: 'text', placeholder: 'client_credentials' },
  expiry_time_unit: {
    label: 'Unit of expires_in',
    kind: 'choice',
    choices: [
      ['', 'Seconds, the default'],
      ['milliseconds', 'Milliseconds'],
      ['minutes', 'Minutes'],
      ['hours', 'Hours'],
    ],
  },
  'field_mapping.access_token': { label: 'Token field', kind: 'text', placeholder: 'access_token' },
  'field_mapping.token_type': { label: 'Token type field', kind: 'text', placeholder: 'token_type' },
  'field_mapping.expires_in': { label: 'Expiry field', kind: 'text', placeholder: 'expires_in' },
});

type Of = Pick<Endpoint, 'authentication'>;

/** How Posthorn gets a token for the endpoint: the client credentials of OAuth 2. */
export function OAuth2Fields({ of }: { of: Of }) {
  const stored = of.authentication?.oauth2;
  const [way, setWay] = useState<string>(stored?.authentication_type ?? 'shared_secret');
  return (
    <>
      <ResourceField form={CLIENT} of={of} name={`${NAME}.url`} />
      <div className="grid gap-4 sm:grid-cols-2">
        <ResourceField form={CLIENT} of={of} name={`${NAME}.client_id`} />
        <ResourceField form={CLIENT} of={of} name={`${NAME}.authentication_type`} onValue={setWay} />
      </div>
      {way === 'shared_secret' ? <FormFields form={SECRET} of={of} /> : <Assertion of={of} />}
      <FormFields form={SCOPE} of={of} />
      <details>
        <summary className="link w-fit">Grant type and response fields</summary>
        <div className="grid gap-4 pt-3 sm:grid-cols-2">
          {Object.keys(ANSWER).map((name) => (
            <ResourceField key={name} form={ANSWER} of={of} name={name} />
          ))}
        </div>
      </details>
      <TokenTest read={(form) => oauth2Of(form, stored)} />
    </>
  );
}

function Assertion({ of }: { of: Of }) {
  const hasKey = of.authentication?.oauth2?.signing_key !== undefined;
  return (
    <>
      <TextArea
        label="Private key (JWK)"
        name={SIGNING_KEY}
        rows={4}
        required={!hasKey}
        autoComplete="off"
        placeholder={hasKey ? '' : '{"kty": "EC", "crv": "P-256", "x": "…", "y": "…", "d": "…"}'}
        hint={hasKey ? 'Leave it empty to keep the stored key.' : 'EC or RSA.'}
      />
      <FormFields form={ASSERTION} of={of} />
    </>
  );
}

const ALL: Form = { ...CLIENT, ...SECRET, ...ASSERTION, ...SCOPE, ...ANSWER };

/** The settings of a form. A key that was not typed is the stored one. */
export function oauth2Of(form: FormData, stored: OAuth2 | undefined): OAuth2 {
  const given = Object.entries(fieldValues(ALL, form)).filter(([, value]) => value !== '');
  const { authentication } = nested(Object.fromEntries(given)) as { authentication: { oauth2: OAuth2 } };
  const { oauth2 } = authentication;
  if (oauth2.authentication_type === 'shared_secret') return oauth2;
  const text = formText(form, SIGNING_KEY);
  const key = text === '' ? stored?.signing_key : (fieldJson(SIGNING_KEY, text) as Record<string, unknown>);
  return { ...oauth2, ...(key !== undefined && { signing_key: key }) };
}
