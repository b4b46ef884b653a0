import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import type { CreateSource } from 'posthorn-client';
import { useState } from 'react';
import { errorText } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { FormDialog } from '../../ui/controls/dialog.tsx';
import { type Choice, SelectField, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';

const PROVIDERS: readonly Choice[] = [
  ['', 'Any sender'],
  ['github', 'GitHub'],
  ['gitlab', 'GitLab'],
  ['shopify', 'Shopify'],
  ['slack', 'Slack'],
  ['standard_webhooks', 'Standard Webhooks'],
  ['stripe', 'Stripe'],
  ['svix', 'Svix'],
  ['twilio', 'Twilio'],
  ['twitter', 'Twitter'],
];

const CHECKS: readonly Choice[] = [
  ['noop', 'Nothing: accept every request'],
  ['hmac', 'A signature (HMAC)'],
  ['basic_auth', 'User and password'],
  ['api_key', 'A key in a header'],
];

/** A source of webhooks. The secret is what the sender shows or asks for. */
export function AddSource({ onClose }: { onClose(): void }) {
  const { api, at } = useProject();
  const queries = useQueryClient();
  const router = useRouter();
  const [provider, setProvider] = useState('');
  const [check, setCheck] = useState('noop');
  const add = async (form: FormData) => {
    const made = await api.sources.create({
      name: formText(form, 'name'),
      type: 'http',
      ...(provider === ''
        ? { verifier: verifierOf(form, check) }
        : {
            provider: provider as NonNullable<CreateSource['provider']>,
            verifier: { type: 'hmac', hmac: { secret: formText(form, 'secret') } },
          }),
    } as CreateSource);
    await queries.invalidateQueries();
    router.history.push(at(`sources/${made.uid}`));
  };
  const isSecret = provider !== '' || check === 'hmac';
  return (
    <FormDialog title="Add source" action="Add source" onClose={onClose} onSubmit={add} explain={errorText}>
      <SelectField
        label="Sender"
        value={provider}
        onChange={(event) => setProvider(event.target.value)}
        choices={PROVIDERS}
      />
      <TextField label="Name" name="name" required />
      {provider === '' && (
        <SelectField
          label="What is checked"
          value={check}
          onChange={(event) => setCheck(event.target.value)}
          choices={CHECKS}
        />
      )}
      {isSecret && (
        <TextField
          label="Secret"
          name="secret"
          required
          autoComplete="off"
          hint="The signing secret of the sender."
        />
      )}
      {provider === '' && check === 'hmac' && (
        <TextField label="Header with the signature" name="header" required placeholder="X-Signature" />
      )}
      {provider === '' && check === 'basic_auth' && (
        <>
          <TextField label="User" name="user" required />
          <TextField label="Password" name="password" required autoComplete="off" />
        </>
      )}
      {provider === '' && check === 'api_key' && (
        <>
          <TextField label="Header" name="header" required placeholder="X-Api-Key" />
          <TextField label="Key" name="key" required autoComplete="off" />
        </>
      )}
    </FormDialog>
  );
}

function verifierOf(form: FormData, check: string): object {
  const text = (name: string): string => formText(form, name);
  switch (check) {
    case 'hmac':
      return {
        type: 'hmac',
        hmac: { header: text('header'), secret: text('secret'), hash: 'SHA256', encoding: 'hex' },
      };
    case 'basic_auth':
      return { type: 'basic_auth', basic_auth: { username: text('user'), password: text('password') } };
    case 'api_key':
      return { type: 'api_key', api_key: { header_name: text('header'), header_value: text('key') } };
    default:
      return { type: 'noop' };
  }
}
