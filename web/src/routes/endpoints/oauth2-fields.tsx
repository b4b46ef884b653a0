import type { OAuth2 } from 'posthorn-client';
import { useState } from 'react';
import { type Choice, SelectField, TextArea, TextField } from '../../ui/controls/fields.tsx';
import { ALGORITHMS, OAUTH2, UNITS } from './oauth2.ts';
import { TokenTest } from './token-test.tsx';

const WAYS: readonly Choice[] = [
  ['shared_secret', 'Client secret'],
  ['client_assertion', 'Signed assertion (JWT)'],
];

/** How Posthorn gets a token for the endpoint: the client credentials of OAuth 2. */
export function OAuth2Fields({ stored }: { stored: OAuth2 | undefined }) {
  const [way, setWay] = useState<string>(stored?.authentication_type ?? 'shared_secret');
  const text = (field: keyof OAuth2) => ({
    name: `${OAUTH2}.${field}`,
    defaultValue: (stored?.[field] ?? '') as string,
  });
  return (
    <>
      <TextField
        label="Token URL"
        {...text('url')}
        type="url"
        required
        placeholder="https://id.example.com/token"
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label="Client ID" {...text('client_id')} required autoComplete="off" />
        <SelectField
          label="Client authentication"
          name={`${OAUTH2}.authentication_type`}
          value={way}
          onChange={(event) => setWay(event.target.value)}
          choices={WAYS}
        />
      </div>
      {way === 'shared_secret' ? (
        <TextField
          label="Client secret"
          {...text('client_secret')}
          type="password"
          required
          autoComplete="off"
        />
      ) : (
        <Assertion stored={stored} />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label="Scope" {...text('scope')} />
        <TextField label="Audience" {...text('audience')} />
      </div>
      <Answer stored={stored} />
      <TokenTest stored={stored} />
    </>
  );
}

/** A private key is never shown again. */
function Assertion({ stored }: { stored: OAuth2 | undefined }) {
  const hasKey = stored?.signing_key !== undefined;
  return (
    <>
      <TextArea
        label="Private key (JWK)"
        name={`${OAUTH2}.signing_key`}
        rows={4}
        required={!hasKey}
        autoComplete="off"
        placeholder={hasKey ? '' : '{"kty": "EC", "crv": "P-256", "x": "…", "y": "…", "d": "…"}'}
        hint={hasKey ? 'Leave it empty to keep the stored key.' : 'EC or RSA.'}
      />
      <div className="grid gap-4 sm:grid-cols-3">
        <SelectField
          label="Algorithm"
          name={`${OAUTH2}.signing_algorithm`}
          defaultValue={stored?.signing_algorithm ?? ''}
          choices={ALGORITHMS}
        />
        <TextField
          label="Issuer"
          name={`${OAUTH2}.issuer`}
          defaultValue={stored?.issuer}
          hint="Optional. Defaults to the client ID."
        />
        <TextField
          label="Subject"
          name={`${OAUTH2}.subject`}
          defaultValue={stored?.subject}
          hint="Optional. Defaults to the client ID."
        />
      </div>
    </>
  );
}

/** Fields that few token servers need. */
function Answer({ stored }: { stored: OAuth2 | undefined }) {
  const { access_token, token_type, expires_in } = stored?.field_mapping ?? {};
  const names = `${OAUTH2}.field_mapping`;
  return (
    <details>
      <summary className="link w-fit">Grant type and response fields</summary>
      <div className="grid gap-4 pt-3 sm:grid-cols-2">
        <TextField
          label="Grant type"
          name={`${OAUTH2}.grant_type`}
          defaultValue={stored?.grant_type}
          placeholder="client_credentials"
        />
        <SelectField
          label="Unit of expires_in"
          name={`${OAUTH2}.expiry_time_unit`}
          defaultValue={stored?.expiry_time_unit ?? ''}
          choices={UNITS}
        />
        <TextField
          label="Token field"
          name={`${names}.access_token`}
          defaultValue={access_token}
          placeholder="access_token"
        />
        <TextField
          label="Token type field"
          name={`${names}.token_type`}
          defaultValue={token_type}
          placeholder="token_type"
        />
        <TextField
          label="Expiry field"
          name={`${names}.expires_in`}
          defaultValue={expires_in}
          placeholder="expires_in"
        />
      </div>
    </details>
  );
}
