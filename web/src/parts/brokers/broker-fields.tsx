import type { BrokerInput, Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { brokerForms } from '../../data/form-fields.ts';
import { Check, SelectField, TextArea, TextField } from '../../ui/controls/fields.tsx';
import { formList, formText } from '../../ui/controls/form-text.ts';

type Value = string | boolean | readonly string[] | null | undefined;
type Kind = keyof typeof brokerForms;

interface Field {
  readonly label: string;
  readonly kind: string;
  readonly choices?: readonly string[];
  readonly hint?: string;
  readonly required?: boolean;
}

const KINDS: Record<Kind, string> = {
  kafka: 'Kafka',
  amqp: 'RabbitMQ, AMQP',
  sqs: 'Amazon SQS',
  google: 'Google Pub/Sub',
};

const kindNames = Object.keys(KINDS) as Kind[];
const fieldsOf = (kind: Kind) => Object.entries<Field>(brokerForms[kind]);
const inputName = (kind: Kind, name: string): string => `broker.${kind}.${name}`;

/** The broker that an endpoint sends to: its kind, and the settings of the kind as its description has them. */
export function BrokerFields({ stored }: { stored?: Endpoint['broker'] | undefined }) {
  const [kind, setKind] = useState<Kind>(stored?.type ?? 'kafka');
  const known = stored?.type === kind ? stored[kind] : undefined;
  return (
    <>
      <SelectField
        label="Broker"
        name="broker.type"
        defaultValue={kind}
        choices={kindNames.map((name) => [name, KINDS[name]])}
        onChange={(event) => setKind(event.target.value as Kind)}
      />
      {fieldsOf(kind).map(([name, field]) => (
        <BrokerField
          key={inputName(kind, name)}
          name={inputName(kind, name)}
          field={field}
          value={valueAt(known, name) as Value}
        />
      ))}
    </>
  );
}

function BrokerField({ name, field, value }: { name: string; field: Field; value: Value }) {
  const { label, kind, choices = [], hint, required = false } = field;
  const common = { label, name, hint };
  if (kind === 'flag') return <Check {...common} defaultChecked={value === true} />;
  if (kind === 'choice')
    return (
      <SelectField
        {...common}
        defaultValue={typeof value === 'string' ? value : ''}
        choices={choices.map((choice) => [choice, choice || 'None'])}
      />
    );
  const text = typeof value === 'object' ? (value ?? []).join(', ') : String(value ?? '');
  if (kind === 'bytes') return <TextArea {...common} required={required} defaultValue={text} />;
  return (
    <TextField
      {...common}
      {...(kind === 'secret' && { type: 'password', autoComplete: 'off' })}
      required={required && !name.includes('.auth.')}
      defaultValue={text}
    />
  );
}

/** The settings in a form. A group of which nothing is given is left out. */
export function brokerOf(form: FormData): BrokerInput {
  const kind = formText(form, 'broker.type') as Kind;
  const settings: Record<string, unknown> = {};
  for (const [name, field] of fieldsOf(kind)) {
    const value = valueIn(form, inputName(kind, name), field.kind);
    const [group = '', leaf] = name.split('.');
    if (leaf === undefined) settings[group] = value;
    else settings[group] = { ...(settings[group] as object | undefined), [leaf]: value };
  }
  const isGiven = ([, value]: [string, unknown]) =>
    typeof value !== 'object' || value === null || Object.values(value).some(Boolean);
  return { type: kind, [kind]: Object.fromEntries(Object.entries(settings).filter(isGiven)) } as BrokerInput;
}

function valueIn(form: FormData, name: string, kind: string): unknown {
  if (kind === 'flag') return form.has(name);
  return kind === 'list' ? formList(form, name) : formText(form, name) || undefined;
}

function valueAt(settings: object | null | undefined, name: string): unknown {
  return name
    .split('.')
    .reduce<unknown>((part, key) => (part as Record<string, unknown> | null | undefined)?.[key], settings);
}
