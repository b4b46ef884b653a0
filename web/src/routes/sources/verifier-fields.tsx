import type { Source, VerifierInput } from 'posthorn-client';
import { useState } from 'react';
import { type Form, FormFields, formValues, ResourceField, within } from '../../parts/resource-field.tsx';

const TYPE: Form = {
  'verifier.type': {
    label: 'What is checked',
    kind: 'choice',
    choices: [
      ['noop', 'Nothing: accept every request'],
      ['hmac', 'A signature (HMAC)'],
      ['basic_auth', 'User and password'],
      ['api_key', 'A key in a header'],
    ],
  },
};

const HASHES = ['SHA256', 'SHA512', 'SHA384', 'SHA224', 'SHA1', 'MD5'];
const MORE_HASHES = ['SHA3_224', 'SHA3_256', 'SHA3_384', 'SHA3_512', 'SHA512_224', 'SHA512_256'];

const secret = (label: string) => ({ label, kind: 'secret', required: true });

/** The signature of a known sender needs a secret only. */
const KNOWN = within('verifier.hmac', {
  secret: { ...secret('Secret'), hint: 'The signing secret of the sender.' },
});

/** The fields of each kind of check. */
const CHECKS: Readonly<Record<string, Form>> = {
  hmac: {
    ...KNOWN,
    ...within('verifier.hmac', {
      header: {
        label: 'Header with the signature',
        kind: 'text',
        required: true,
        placeholder: 'X-Signature',
      },
      hash: { label: 'Hash', kind: 'choice', choices: [...HASHES, ...MORE_HASHES], isShort: true },
      encoding: { label: 'Encoding', kind: 'choice', choices: ['hex', 'base64'], isShort: true },
    }),
  },
  basic_auth: within('verifier.basic_auth', {
    username: { label: 'User', kind: 'text', required: true, autoComplete: 'off', isShort: true },
    password: { ...secret('Password'), isShort: true },
  }),
  api_key: within('verifier.api_key', {
    header_name: { label: 'Header', kind: 'text', placeholder: 'Authorization', isShort: true },
    header_value: { ...secret('Key'), isShort: true },
  }),
};

interface Props {
  /** A known sender. Empty: any. */
  provider: string;
  source: Source | undefined;
}

/** How a sender proves itself. */
export function VerifierFields({ provider, source }: Props) {
  const [check, setCheck] = useState<string>(source?.verifier.type ?? 'noop');
  if (provider !== '') return <FormFields form={KNOWN} of={source} />;
  return (
    <>
      <ResourceField form={TYPE} name="verifier.type" of={source} onValue={setCheck} />
      {check !== 'noop' && <FormFields key={check} form={CHECKS[check] ?? {}} of={source} />}
    </>
  );
}

/** The check, from the fields of the form. */
export function verifierOf(form: FormData, provider: string): VerifierInput {
  const all = Object.assign({}, TYPE, ...Object.values(CHECKS)) as Form;
  const { verifier } = formValues(all, form) as { verifier: VerifierInput };
  return provider === '' ? verifier : { ...verifier, type: 'hmac' };
}
