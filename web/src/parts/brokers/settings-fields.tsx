import { useState } from 'react';
import {
  type BrokerField,
  hasMeaning,
  isRequired,
  isSecretField,
  type TextOf,
  textsOf,
  usualOf,
} from '../../../../src/domain/brokers/broker-field.ts';
import { valueAt } from '../../data/field-paths.ts';
import { problemText, withoutProblem } from '../../ui/controls/field-problems.ts';
import { Check, SelectField, TextArea, TextField } from '../../ui/controls/fields.tsx';
import { useWords } from '../words.ts';
import { readSettings, type Settings } from './settings.ts';

/** Kinds that take the whole width. A choice of credentials does too, above the fields of a key. */
const LONG: ReadonlySet<string> = new Set(['list', 'bytes', 'flag']);
const isLong = ({ kind, cloud }: BrokerField): boolean => LONG.has(kind) || cloud !== undefined;

interface Props extends Settings {
  /** The clouds whose credentials of the machine may be used. */
  clouds?: readonly string[] | undefined;
}

/** The choices of credentials. Only the dashboard has them. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  '': 'The key below',
  workload: 'Those of the machine that Posthorn runs on',
};

/**
 * The settings of a broker. Fields that have no meaning with what is chosen are not shown. A field that is left is checked;
 * one that is empty is checked with the whole form. A stored secret is never put into the page: its field is empty, and a
 * field that stays empty keeps it.
 */
export function SettingsFields({ clouds = [], ...settings }: Props) {
  const { prefix, form, stored } = settings;
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const [wrong, setWrong] = useState<Readonly<Record<string, string>>>({});
  const textOf = textsOf(form, (name) => typed[`${prefix}.${name}`] ?? valueAt(stored, name));
  const change = ({ name, value }: HTMLInputElement) => {
    setTyped({ ...typed, [name]: value });
    setWrong(withoutProblem(wrong, name));
  };
  const leave = (input: HTMLInputElement) => {
    if (input.form === null || input.value === '') return;
    const { problems } = readSettings(new FormData(input.form), settings);
    const own = problems.find(({ field }) => `${field}.`.startsWith(`${input.name}.`));
    if (own !== undefined) setWrong({ ...wrong, [input.name]: problemText(input, own) });
  };
  const shown = Object.entries(form).filter(
    ([name, field]) =>
      hasMeaning(field, textOf) &&
      (field.cloud === undefined || clouds.includes(field.cloud) || Boolean(valueAt(stored, name))),
  );
  return (
    <div
      className="grid gap-4 sm:grid-cols-2"
      onChange={({ target }) => change(target as unknown as HTMLInputElement)}
      onBlur={({ target }) => leave(target as unknown as HTMLInputElement)}
    >
      {shown.map(([name, field]) => (
        <div key={name} className={isLong(field) ? 'sm:col-span-2' : ''}>
          <SettingsField
            name={`${prefix}.${name}`}
            field={field}
            value={valueAt(stored, name)}
            isOfGroup={name.includes('.')}
            textOf={textOf}
            error={wrong[`${prefix}.${name}`]}
          />
        </div>
      ))}
    </div>
  );
}

interface FieldProps {
  name: string;
  field: BrokerField;
  value: unknown;
  textOf: TextOf;
  error: string | undefined;
}

function SettingsField({ isOfGroup, ...props }: FieldProps & { isOfGroup: boolean }) {
  const { brokers: t } = useWords();
  const { field, name, value, textOf, error } = props;
  const label = t.labels[field.label] ?? field.label;
  if (field.kind === 'flag') return <Check {...{ label, name }} defaultChecked={value === true} />;
  if (field.kind === 'choice') return <ChoiceField label={label} {...props} />;
  const isKept = isSecretField(field) && Boolean(value);
  // A group may be left out as a whole.
  const mustBe = isRequired(field, textOf) && (field.when !== undefined || !isOfGroup);
  const usual = usualOf(field, textOf);
  const hint = [mustBe || usual !== '' ? '' : t.optional, t.hints[field.hint ?? ''] ?? field.hint ?? ''];
  const typed = {
    label,
    name,
    error,
    hint: isKept ? t.kept : hint.join(' ').trim() || undefined,
    'aria-required': mustBe && !isKept,
    placeholder: usual,
    defaultValue: isKept ? '' : textIn(value),
  };
  if (field.kind === 'bytes') return <TextArea {...typed} />;
  return <TextField {...typed} {...(field.kind === 'secret' && { type: 'password', autoComplete: 'off' })} />;
}

const textIn = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') : typeof value === 'string' ? value : '';

/** A choice with a default has no empty one. */
function ChoiceField({ label, field, name, value, textOf, error }: FieldProps & { label: string }) {
  const { none } = useWords().brokers;
  const usual = usualOf(field, textOf);
  const names: Readonly<Record<string, string>> = field.cloud === undefined ? { '': none } : CREDENTIALS;
  const choices = [...(usual === '' ? [''] : []), ...(field.of ?? [])];
  return (
    <SelectField
      {...{ label, name, error }}
      defaultValue={textIn(value) || usual}
      choices={choices.map((choice) => [choice, names[choice] ?? choice])}
    />
  );
}
