import type { CreateSource, Source } from 'posthorn-client';
import { useState } from 'react';
import { editedOf } from '../../data/edit/save-change.ts';
import { useProject } from '../../data/project.ts';
import { ActDialog } from '../../parts/act-dialog.tsx';
import { EditDialog } from '../../parts/forms/edit-dialog.tsx';
import { useAsOpened } from '../../parts/forms/save.ts';
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

const SETTINGS = 'Settings';
const LABELS = {
  pub_sub: SETTINGS,
  db_change_stream: SETTINGS,
  schedule: SETTINGS,
  custom_response: 'Response',
};

export function EditSource({ source: given, onClose }: { source: Source; onClose(): void }) {
  const { api } = useProject();
  const source = useAsOpened(given);
  const kind = kindOf(source);
  return (
    <EditDialog
      title={`Edit ${source.name}`}
      action="Save source"
      onClose={onClose}
      edited={editedOf(api, api.sources, source)}
      changeOf={(form, stored) => sourceOf(form, { kind, source: stored })}
      labels={LABELS}
    >
      <SourceFields {...{ kind, source }} />
    </EditDialog>
  );
}
