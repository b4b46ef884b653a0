import type { ReactNode } from 'react';
import { Check, SelectField, TextField } from '../ui/controls/fields.tsx';
import { formText } from '../ui/controls/form-text.ts';
import { useWords } from './words.ts';

interface FormField {
  readonly label: string;
  readonly kind: string;
  readonly choices?: readonly string[];
}

export type Form = Readonly<Record<string, FormField>>;

interface Props<F extends Form> {
  form: F;
  name: keyof F & string;
  /** The resource as it is stored. */
  of?: object;
  hint?: ReactNode;
  type?: 'email' | 'url';
  required?: boolean;
  placeholder?: string;
  /** The words of a choice, if not its values. */
  words?: Readonly<Record<string, string>>;
  onChoose?(choice: string): void;
}

/** A field of a resource in a form, as its description says (`src/domain/resources`), in the words of the page. */
export function ResourceField<F extends Form>({
  form,
  name,
  of = {},
  hint,
  words = {},
  onChoose,
  ...rest
}: Props<F>) {
  const { label: usual, kind, choices = [] } = form[name] as FormField;
  const label = (useWords().fields as Readonly<Record<string, string>>)[name] ?? usual;
  const value = (of as Record<string, string | number | boolean | undefined>)[name];
  const common = { label, name, hint };
  if (kind === 'flag') return <Check {...common} defaultChecked={value === true} />;
  if (kind === 'choice')
    return (
      <SelectField
        {...common}
        defaultValue={String(value)}
        onChange={(event) => onChoose?.(event.target.value)}
        choices={choices.map((choice) => [choice, words[choice] ?? choice])}
      />
    );
  if (kind === 'number')
    return <TextField {...common} type="number" min="0" defaultValue={Number(value ?? 0)} />;
  return <TextField {...common} {...rest} defaultValue={String(value ?? '')} />;
}

/** The fields of a resource that a form does not place itself. */
export function OtherFields({ form, placed, of }: { form: Form; placed: readonly string[]; of: object }) {
  const others = Object.keys(form).filter((name) => !placed.includes(name) && form[name]?.kind !== 'other');
  return others.map((name) => <ResourceField key={name} form={form} name={name} of={of} />);
}

/** The values of all fields of a resource, from its form. */
export function formValues(form: Form, data: FormData): Record<string, unknown> {
  const valueOf = (name: string, kind: string) => {
    if (kind === 'flag') return data.has(name);
    return kind === 'number' ? Number(formText(data, name)) : formText(data, name);
  };
  return Object.fromEntries(Object.entries(form).map(([name, { kind }]) => [name, valueOf(name, kind)]));
}
