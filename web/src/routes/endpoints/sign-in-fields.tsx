import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import { useState } from 'react';
import { HeaderKeyFields, headerKeyOf } from '../../parts/header-key.tsx';
import { type Choice, SelectField, TextField } from '../../ui/controls/fields.tsx';
import { asTyped, formText } from '../../ui/controls/form-text.ts';
import { oauth2Of } from './oauth2.ts';
import { OAuth2Fields } from './oauth2-fields.tsx';

const CHOICES: readonly Choice[] = [
  ['', 'None'],
  ['api_key', 'API key in a header'],
  ['basic_auth', 'Basic: user name and password'],
  ['oauth2', 'OAuth 2.0'],
];

type Authentication = Endpoint['authentication'];

/** How Posthorn signs in to the endpoint. */
export function SignInFields({ authentication }: { authentication: Authentication }) {
  const [kind, setKind] = useState<string>(authentication?.type ?? '');
  const { api_key: key, basic_auth: basic, oauth2 } = authentication ?? {};
  return (
    <>
      <SelectField
        label="Authentication"
        name="authentication.type"
        value={kind}
        onChange={(event) => setKind(event.target.value)}
        choices={CHOICES}
      />
      {kind === 'api_key' && <HeaderKeyFields stored={key} required />}
      {kind === 'basic_auth' && (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="User name"
            name="authentication.basic_auth.username"
            autoComplete="off"
            required
            defaultValue={basic?.username}
          />
          <TextField
            label="Password"
            name="authentication.basic_auth.password"
            type="password"
            autoComplete="off"
            defaultValue={basic?.password}
          />
        </div>
      )}
      {kind === 'oauth2' && (
        <div className="grid gap-4 border-l-2 border-line pl-4">
          <OAuth2Fields stored={oauth2} />
        </div>
      )}
    </>
  );
}

/** The authentication, from the fields of the form. */
export function signInOf(form: FormData, stored: Authentication): Pick<UpdateEndpoint, 'authentication'> {
  const field = (name: string): string => `authentication.${name}`;
  switch (formText(form, field('type'))) {
    case 'api_key':
      return headerKeyOf(form);
    case 'basic_auth':
      return {
        authentication: {
          type: 'basic_auth',
          basic_auth: {
            username: formText(form, field('basic_auth.username')),
            password: asTyped(form, field('basic_auth.password')),
          },
        },
      };
    case 'oauth2':
      return { authentication: { type: 'oauth2', oauth2: oauth2Of(form, stored?.oauth2) } };
    default:
      return { authentication: {} };
  }
}
