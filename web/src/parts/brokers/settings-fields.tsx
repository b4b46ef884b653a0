import { Check, SelectField, TextArea, TextField } from '../../ui/controls/fields.tsx';
import { useWords } from '../words.ts';
import { type Field, isSecret, type Settings, valueAt } from './settings.ts';

/** Kinds that take the whole width. */
const LONG: ReadonlySet<string> = new Set(['list', 'bytes']);

/**
 * The settings of a broker. A stored secret is never put into the page: its field is empty, and a field that stays
 * empty keeps it.
 */
export const SettingsFields = ({ prefix, form, stored }: Settings) => (
  <div className="grid gap-4 sm:grid-cols-2">
    {Object.entries(form).map(([name, field]) => (
      <div key={name} className={LONG.has(field.kind) ? 'sm:col-span-2' : ''}>
        <SettingsField
          name={`${prefix}.${name}`}
          field={field}
          value={valueAt(stored, name)}
          // A group may be left out as a whole.
          mayMiss={name.includes('.')}
        />
      </div>
    ))}
  </div>
);

interface FieldProps {
  name: string;
  field: Field;
  value: unknown;
  mayMiss: boolean;
}

function SettingsField({ name, field, value, mayMiss }: FieldProps) {
  const { brokers: t } = useWords();
  const { kind, choices = [] } = field;
  const isKept = isSecret(field) && Boolean(value);
  const said = (field.hint && t.hints[field.hint]) ?? field.hint;
  const common = { label: t.labels[field.label] ?? field.label, name, hint: isKept ? t.kept : said };
  const required = field.required === true && !isKept && !mayMiss;
  if (kind === 'flag') return <Check {...common} defaultChecked={value === true} />;
  const none = choices.includes('workload') ? t.ownKey : t.none;
  if (kind === 'choice')
    return (
      <SelectField
        {...common}
        defaultValue={typeof value === 'string' ? value : ''}
        choices={choices.map((choice) => [choice, choice || none])}
      />
    );
  const text = isKept
    ? ''
    : Array.isArray(value)
      ? value.join(', ')
      : ((value as string | undefined | null) ?? '');
  if (kind === 'bytes') return <TextArea {...common} required={required} defaultValue={text} />;
  return (
    <TextField
      {...common}
      {...(kind === 'secret' && { type: 'password', autoComplete: 'off' })}
      required={required}
      defaultValue={text}
    />
  );
}
