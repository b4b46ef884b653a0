import type { CreateSource } from 'posthorn-client';
import { useState } from 'react';
import { fieldJson } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { type Choice, SelectField, TextArea, TextField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { useGo } from '../../ui/text/link.tsx';
import { BROKERS, brokerSource } from './broker-settings.ts';

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
  ...Object.entries(BROKERS).map(([kind, { name }]) => [kind, name] as const),
];

const CHECKS: readonly Choice[] = [
  ['noop', 'Nothing: accept every request'],
  ['hmac', 'A signature (HMAC)'],
  ['basic_auth', 'User and password'],
  ['api_key', 'A key in a header'],
];

/** A source of webhooks or messages. The secret of webhooks is what the sender shows or asks for. */
export function AddSource({ onClose }: { onClose(): void }) {
  const { api, at } = useProject();
  const go = useGo();
  const [provider, setProvider] = useState('');
  const [check, setCheck] = useState('noop');
  const broker = BROKERS[provider];
  const add = async (form: FormData) => {
    const made = await api.sources.create({
      name: formText(form, 'name'),
      ...(broker === undefined
        ? webhookSource(form, provider, check)
        : brokerSource(provider, fieldJson('settings', formText(form, 'settings')) as object)),
    });
    go(at(`sources/${made.uid}`));
  };
  const isSecret = broker === undefined && (provider !== '' || check === 'hmac');
  return (
    <ActDialog title="Add source" action="Add source" onClose={onClose} onSubmit={add}>
      <SelectField
        label="Takes from"
        value={provider}
        onChange={(event) => setProvider(event.target.value)}
        choices={PROVIDERS}
      />
      <TextField label="Name" name="name" required />
      {broker !== undefined && (
        <TextArea
          // Another kind begins with other settings.
          key={provider}
          label="Settings, JSON"
          name="settings"
          rows={12}
          required
          defaultValue={JSON.stringify(broker.settings, null, 2)}
          hint="The fields are those of the API."
        />
      )}
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
    </ActDialog>
  );
}

function webhookSource(form: FormData, provider: string, check: string): Omit<CreateSource, 'name'> {
  const known = {
    provider,
    verifier: { type: 'hmac', hmac: { secret: formText(form, 'secret') } },
  };
  return {
    type: 'http',
    ...(provider === '' ? { verifier: verifierOf(form, check) } : known),
  } as Omit<CreateSource, 'name'>;
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
