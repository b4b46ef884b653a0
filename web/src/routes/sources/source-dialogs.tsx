import type { CreateSource, Source } from 'posthorn-client';
import { useState } from 'react';
import { useProject } from '../../data/project.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { type Choice, SelectField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { useGo } from '../../ui/text/link.tsx';
import { AnyOriginWarning } from './any-origin.tsx';
import { BROKERS } from './broker-settings.ts';
import { kindOf, SourceFields, sourceOf } from './source-form.tsx';

const KINDS: readonly Choice[] = [
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

/** A source of webhooks or messages. The secret of webhooks is what the sender shows or asks for. */
export function AddSource({ onClose }: { onClose(): void }) {
  const { api, at } = useProject();
  const go = useGo();
  const [kind, setKind] = useState('');
  const [location, setLocation] = useState('');
  const add = async (form: FormData) => {
    const made = await api.sources.create({
      ...(BROKERS[kind] === undefined && {
        type: 'http',
        provider: kind as CreateSource['provider'] & string,
      }),
      ...sourceOf(form, { kind }),
      name: formText(form, 'name'),
    } as CreateSource);
    go(at(`sources/${made.uid}`));
  };
  return (
    <ActDialog title="Add source" action="Add source" onClose={onClose} onSubmit={add}>
      <SelectField
        label="Provider"
        value={kind}
        onChange={(event) => {
          setKind(event.target.value);
          setLocation('');
        }}
        choices={KINDS}
      />
      {/* Another kind begins with other settings. */}
      <SourceFields key={kind} kind={kind} onLocation={setLocation} />
      <AnyOriginWarning kind={kind} location={location} />
    </ActDialog>
  );
}

export function EditSource({ source, onClose }: { source: Source; onClose(): void }) {
  const { api } = useProject();
  const of = { kind: kindOf(source), source };
  return (
    <ActDialog
      title={`Edit ${source.name}`}
      action="Save source"
      onClose={onClose}
      onSubmit={(form) => api.sources.update(source.uid, sourceOf(form, of))}
    >
      <SourceFields {...of} />
    </ActDialog>
  );
}
