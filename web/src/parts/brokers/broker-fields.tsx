import type { BrokerInput, Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { fieldsFor } from '../../../../src/domain/brokers/broker-fields.ts';
import { SelectField } from '../../ui/controls/fields.tsx';
import { formText } from '../../ui/controls/form-text.ts';
import { useWords } from '../words.ts';
import { BROKER_NAMES } from './broker-address.ts';
import { settingsIn } from './settings.ts';
import { SettingsFields } from './settings-fields.tsx';

type Kind = keyof typeof BROKER_NAMES;

const formOf = (kind: Kind) => fieldsFor(kind, 'destination');
const prefixOf = (kind: Kind): string => `broker.${kind}`;

type Stored = Endpoint['broker'] | undefined;

const storedOf = (stored: Stored, kind: Kind) => (stored?.type === kind ? stored[kind] : undefined);

interface Props {
  stored?: Stored;
  /** The clouds whose credentials of the machine may be used. */
  clouds?: readonly string[] | undefined;
}

/** The broker that an endpoint sends to: its kind, and the settings of the kind as its description has them. */
export function BrokerFields({ stored, clouds }: Props) {
  const { brokers: t } = useWords();
  const [kind, setKind] = useState<Kind>(stored?.type ?? 'kafka');
  return (
    <>
      <SelectField
        label={t.kind}
        name="broker.type"
        defaultValue={kind}
        choices={Object.entries(BROKER_NAMES)}
        onChange={(event) => setKind(event.target.value as Kind)}
      />
      <SettingsFields
        key={kind}
        prefix={prefixOf(kind)}
        form={formOf(kind)}
        stored={storedOf(stored, kind)}
        clouds={clouds}
      />
    </>
  );
}

/** Whether its credentials are those of the machine that the service runs on. */
export const usesMachine = (stored: Stored): boolean =>
  [stored?.sqs, stored?.google, stored?.s3].some((settings) => settings?.credentials === 'workload');

/** The broker in a form. */
export function brokerOf(form: FormData, stored?: Stored): BrokerInput {
  const kind = formText(form, 'broker.type') as Kind;
  const settings = settingsIn(form, {
    prefix: prefixOf(kind),
    form: formOf(kind),
    stored: storedOf(stored, kind),
  });
  return { type: kind, [kind]: settings } as BrokerInput;
}
