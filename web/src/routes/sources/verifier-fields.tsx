import type { Source, VerifierInput } from 'posthorn-client';
import { useState } from 'react';
import { type Choice, SelectField, TextField } from '../../ui/controls/fields.tsx';
import { asTyped, formText } from '../../ui/controls/form-text.ts';

const CHECKS: readonly Choice[] = [
  ['noop', 'Nothing: accept every request'],
  ['hmac', 'A signature (HMAC)'],
  ['basic_auth', 'User and password'],
  ['api_key', 'A key in a header'],
];

const HASHES: readonly Choice[] = [
  'SHA256',
  'SHA512',
  'SHA384',
  'SHA224',
  'SHA1',
  'MD5',
  'SHA3_224',
  'SHA3_256',
  'SHA3_384',
  'SHA3_512',
  'SHA512_224',
  'SHA512_256',
].map((name) => [name, name]);

/** Inputs are named as the API names the fields, so that its errors find them. */
const field = (name: string): string => `verifier.${name}`;
const hidden = { type: 'password', autoComplete: 'off', required: true } as const;

interface Props {
  /** A known sender, whose signature needs a secret only. Empty: any. */
  provider: string;
  verifier: Source['verifier'] | undefined;
}

/** How a sender proves itself. */
export function VerifierFields({ provider, verifier }: Props) {
  const [check, setCheck] = useState<string>(verifier?.type ?? 'noop');
  const { hmac, basic_auth: basic, api_key: key } = verifier ?? {};
  const secret = (
    <TextField
      label="Secret"
      name={field('hmac.secret')}
      {...hidden}
      defaultValue={hmac?.secret}
      hint="The signing secret of the sender."
    />
  );
  if (provider !== '') return secret;
  return (
    <>
      <SelectField
        label="What is checked"
        name={field('type')}
        value={check}
        onChange={(event) => setCheck(event.target.value)}
        choices={CHECKS}
      />
      {check === 'hmac' && (
        <>
          {secret}
          <Signature hmac={hmac} />
        </>
      )}
      {check === 'basic_auth' && (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="User"
            name={field('basic_auth.username')}
            required
            autoComplete="off"
            defaultValue={basic?.username}
          />
          <TextField
            label="Password"
            name={field('basic_auth.password')}
            {...hidden}
            defaultValue={basic?.password}
          />
        </div>
      )}
      {check === 'api_key' && (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Header"
            name={field('api_key.header_name')}
            placeholder="Authorization"
            defaultValue={key?.header_name}
          />
          <TextField
            label="Key"
            name={field('api_key.header_value')}
            {...hidden}
            defaultValue={key?.header_value}
          />
        </div>
      )}
    </>
  );
}

/** Where the signature is, and how it is made. */
const Signature = ({ hmac }: { hmac: Source['verifier']['hmac'] | undefined }) => (
  <>
    <TextField
      label="Header with the signature"
      name={field('hmac.header')}
      required
      placeholder="X-Signature"
      defaultValue={hmac?.header}
    />
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        label="Hash"
        name={field('hmac.hash')}
        defaultValue={hmac?.hash || 'SHA256'}
        choices={HASHES}
      />
      <SelectField
        label="Encoding"
        name={field('hmac.encoding')}
        defaultValue={hmac?.encoding || 'hex'}
        choices={[
          ['hex', 'hex'],
          ['base64', 'base64'],
        ]}
      />
    </div>
  </>
);

/** The check, from the fields of the form. */
export function verifierOf(form: FormData, provider: string): VerifierInput {
  const text = (name: string): string => formText(form, field(name));
  const secret = asTyped(form, field('hmac.secret'));
  if (provider !== '') return { type: 'hmac', hmac: { secret } };
  switch (text('type')) {
    case 'hmac': {
      const [header, hash, encoding] = [text('hmac.header'), text('hmac.hash'), text('hmac.encoding')];
      return { type: 'hmac', hmac: { header, hash, encoding, secret } as VerifierInput['hmac'] & object };
    }
    case 'basic_auth': {
      const password = asTyped(form, field('basic_auth.password'));
      return { type: 'basic_auth', basic_auth: { username: text('basic_auth.username'), password } };
    }
    case 'api_key': {
      const header_value = asTyped(form, field('api_key.header_value'));
      return { type: 'api_key', api_key: { header_name: text('api_key.header_name'), header_value } };
    }
    default:
      return { type: 'noop' };
  }
}
