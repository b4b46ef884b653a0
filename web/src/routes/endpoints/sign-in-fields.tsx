import type { Endpoint, UpdateEndpoint } from 'posthorn-client';
import { useState } from 'react';
import { HeaderKeyFields, headerKeyOf } from '../../parts/forms/header-key.tsx';
import { type Form, FormFields, formValues, ResourceField, within } from '../../parts/resource-field.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { OAuth2Fields, oauth2Of } from './oauth2-fields.tsx';

const NAME = 'authentication.type';

const TYPE: Form = {
  [NAME]: {
    label: 'Authentication',
    kind: 'choice',
    choices: [
      ['', 'None'],
      ['api_key', 'API key in a header'],
      ['basic_auth', 'Basic: user name and password'],
      ['oauth2', 'OAuth 2.0'],
    ],
  },
};

const BASIC = within('authentication.basic_auth', {
  username: { label: 'User name', kind: 'text', autoComplete: 'off', required: true, isShort: true },
  password: { label: 'Password', kind: 'secret', isShort: true },
});

type Of = Pick<Endpoint, 'authentication'>;

/** How Posthorn signs in to the endpoint. */
export function SignInFields({ of }: { of: Of }) {
  const [kind, setKind] = useState<string>(of.authentication?.type ?? '');
  return (
    <>
      <ResourceField form={TYPE} of={of} name={NAME} onValue={setKind} />
      {kind === 'api_key' && <HeaderKeyFields stored={of.authentication?.api_key} required />}
      {kind === 'basic_auth' && <FormFields form={BASIC} of={of} />}
      {kind === 'oauth2' && (
        <div className="grid gap-4 border-l-2 border-line pl-4">
          <OAuth2Fields of={of} />
        </div>
      )}
    </>
  );
}

/** The authentication, from the fields of the form. */
export function signInOf(
  form: FormData,
  { authentication: stored }: Of,
): Pick<UpdateEndpoint, 'authentication'> {
  switch (formText(form, NAME)) {
    case 'api_key':
      return headerKeyOf(form);
    case 'basic_auth':
      return formValues({ ...TYPE, ...BASIC }, form);
    case 'oauth2':
      return { authentication: { type: 'oauth2', oauth2: oauth2Of(form, stored?.oauth2) } };
    default:
      return { authentication: {} };
  }
}
