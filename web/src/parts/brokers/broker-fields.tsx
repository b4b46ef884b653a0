import type { BrokerInput, Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { brokerForms } from '../../data/broker-forms.ts';
import { SelectField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { useWords } from '../words.ts';
import { BROKER_NAMES } from './broker-address.ts';
import { settingsIn } from './settings.ts';
import { SettingsFields } from './settings-fields.tsx';

type Kind = keyof typeof brokerForms;

const kindNames = Object.keys(brokerForms) as Kind[];
const prefixOf = (kind: Kind): string => `broker.${kind}`;

type Stored = Endpoint['broker'] | undefined;

const storedOf = (stored: Stored, kind: Kind) => (stored?.type === kind ? stored[kind] : undefined);

/** The broker that an endpoint sends to: its kind, and the settings of the kind as its description has them. */
export function BrokerFields({ stored }: { stored?: Stored }) {
  const { brokers: t } = useWords();
  const [kind, setKind] = useState<Kind>(stored?.type ?? 'kafka');
  return (
    <>
      <SelectField
        label={t.kind}
        name="broker.type"
        defaultValue={kind}
        choices={kindNames.map((name) => [name, BROKER_NAMES[name]])}
        onChange={(event) => setKind(event.target.value as Kind)}
      />
      <SettingsFields
        key={kind}
        prefix={prefixOf(kind)}
        form={brokerForms[kind]}
        stored={storedOf(stored, kind)}
      />
    </>
  );
}

/** The broker in a form. */
export function brokerOf(form: FormData, stored?: Stored): BrokerInput {
  const kind = formText(form, 'broker.type') as Kind;
  const settings = settingsIn(form, {
    prefix: prefixOf(kind),
    form: brokerForms[kind],
    stored: storedOf(stored, kind),
  });
  return { type: kind, [kind]: settings } as BrokerInput;
}
