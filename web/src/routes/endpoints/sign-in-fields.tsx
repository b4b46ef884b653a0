import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import { useState } from 'react';
import { type Choice, SelectField, TextField } from '../../ui/controls/fields.tsx';
import { asTyped, formText } from '../../ui/controls/form-text.ts';

const CHOICES: readonly Choice[] = [
  ['', 'None'],
  ['api_key', 'A header with a key'],
  ['basic_auth', 'User name and password'],
];
const OAUTH2: Choice = ['oauth2', 'OAuth 2, as set through the API'];

type Authentication = Endpoint['authentication'];

/** How Posthorn signs in to the endpoint. */
export function SignInFields({ authentication }: { authentication: Authentication }) {
  const [kind, setKind] = useState<string>(authentication?.type ?? '');
  const { api_key: key, basic_auth: basic } = authentication ?? {};
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <SelectField
        label="Sign-in"
        name="kind"
        value={kind}
        onChange={(event) => setKind(event.target.value)}
        choices={authentication?.type === 'oauth2' ? [...CHOICES, OAUTH2] : CHOICES}
      />
      {kind === 'api_key' && (
        <>
          <TextField label="Header" name="header" required defaultValue={key?.header_name ?? 'X-Api-Key'} />
          <TextField
            label="Key"
            name="value"
            type="password"
            autoComplete="off"
            required
            defaultValue={key?.header_value}
          />
        </>
      )}
      {kind === 'basic_auth' && (
        <>
          <TextField
            label="User name"
            name="user"
            autoComplete="off"
            required
            defaultValue={basic?.username}
          />
          <TextField
            label="Password"
            name="password"
            type="password"
            autoComplete="off"
            defaultValue={basic?.password}
          />
        </>
      )}
    </div>
  );
}

/** What the fields change. Nothing while OAuth 2 stays. */
export function signInOf(form: FormData): Pick<UpdateEndpoint, 'authentication'> {
  switch (formText(form, 'kind')) {
    case 'api_key':
      return {
        authentication: {
          type: 'api_key',
          api_key: { header_name: formText(form, 'header'), header_value: asTyped(form, 'value') },
        },
      };
    case 'basic_auth':
      return {
        authentication: {
          type: 'basic_auth',
          basic_auth: { username: formText(form, 'user'), password: asTyped(form, 'password') },
        },
      };
    case 'oauth2':
      return {};
    default:
      return { authentication: {} };
  }
}
