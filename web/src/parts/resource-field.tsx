import type { ReactNode } from 'react';
import { Check, SelectField, TextArea, TextField } from '../ui/controls/fields.tsx';
import { formList, formText } from '../ui/controls/form-text.ts';
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
  of?: object | undefined;
  hint?: ReactNode;
  type?: 'email' | 'url' | 'datetime-local';
  required?: boolean;
  placeholder?: string;
  /** The dialog opens with the focus here. */
  'data-first'?: '';
  /** The words of a choice, if not its values. */
  words?: Readonly<Record<string, string>>;
  /** It is chosen or typed. */
  onValue?(value: string): void;
}

/** A field of a resource in a form, as its description says (`src/domain/resources`), in the words of the page. */
export function ResourceField<F extends Form>({
  form,
  name,
  of = {},
  hint,
  words = {},
  onValue,
  ...rest
}: Props<F>) {
  const { label: usual, kind, choices = [] } = form[name] as FormField;
  const label = (useWords().fields as Readonly<Record<string, string>>)[name] ?? usual;
  const value = (of as Record<string, string | number | boolean | readonly unknown[] | undefined>)[name];
  const common = { label, name, hint };
  if (kind === 'flag') return <Check {...common} defaultChecked={value === true} />;
  if (kind === 'choice')
    return (
      <SelectField
        {...common}
        defaultValue={String(value)}
        onChange={(event) => onValue?.(event.target.value)}
        choices={choices.map((choice) => [choice, words[choice] ?? choice])}
      />
    );
  if (kind === 'number')
    return <TextField {...common} type="number" min="0" defaultValue={Number(value ?? 0)} />;
  if (kind === 'list' || kind === 'numbers')
    return (
      <TextField {...common} {...rest} defaultValue={((value ?? []) as readonly unknown[]).join(', ')} />
    );
  if (kind === 'code') return <TextArea {...common} {...rest} defaultValue={String(value ?? '')} />;
  return (
    <TextField
      {...common}
      {...rest}
      defaultValue={String(value ?? '')}
      onChange={(event) => onValue?.(event.target.value)}
    />
  );
}

/** The fields of a resource that a form does not place itself. */
export function OtherFields({ form, placed, of }: { form: Form; placed: readonly string[]; of: object }) {
  const others = Object.keys(form).filter((name) => !placed.includes(name));
  return others.map((name) => <ResourceField key={name} form={form} name={name} of={of} />);
}

/** The values of the fields of a resource that its form has. */
export function formValues(form: Form, data: FormData): Record<string, unknown> {
  const valueOf = (name: string, kind: string) => {
    const text = formText(data, name);
    if (kind === 'flag') return data.has(name);
    if (kind === 'list') return formList(data, name);
    if (kind === 'numbers') return formList(data, name).map(Number);
    return kind === 'number' ? Number(text) : text;
  };
  // A flag that is not ticked is not among the data.
  const present = Object.entries(form).filter(([name, { kind }]) => kind === 'flag' || data.has(name));
  return Object.fromEntries(present.map(([name, { kind }]) => [name, valueOf(name, kind)]));
}
