import type { ReactNode } from 'react';
import { nested, valueAt } from '../data/field-paths.ts';
import { Check, type Choice, SelectField, TextArea, TextField } from '../ui/controls/fields.tsx';
import { asTyped, formList, formText } from '../ui/controls/form-text.ts';
import { useWords } from './words.ts';

/** A field may say these of itself, or its page does. */
interface Facts {
  readonly hint?: ReactNode;
  readonly type?: 'email' | 'url' | 'datetime-local';
  readonly required?: boolean | undefined;
  readonly min?: number;
  readonly placeholder?: string;
  readonly rows?: number;
  readonly autoComplete?: 'off';
}

interface FormField extends Facts {
  readonly label: string;
  readonly kind: string;
  /** Values, or values with their words. */
  readonly choices?: readonly (string | Choice)[];
  /** It stands side by side with others. */
  readonly isShort?: boolean;
  /** The value if nothing is stored. */
  readonly usual?: string | number;
}

/** Fields by their names in the API: `url`, `strategy.type`. */
export type Form = Readonly<Record<string, FormField>>;

/** The fields of an object within a resource. */
export const within = (object: string, form: Form): Form =>
  Object.fromEntries(Object.entries(form).map(([name, field]) => [`${object}.${name}`, field]));

interface Props<F extends Form> extends Facts {
  form: F;
  name: keyof F & string;
  /** The resource as it is stored. */
  of?: object | undefined;
  /** The dialog opens with the focus here. */
  'data-first'?: '';
  /** The words of a choice, if not its values. */
  words?: Readonly<Record<string, string>>;
  /** It is chosen or typed. */
  onValue?(value: string): void;
}

type Value = string | number | boolean | readonly unknown[] | undefined;
const valueOr = ({ usual }: FormField, of: object, name: string) => (valueAt(of, name) ?? usual) as Value;

/** A field of a resource in a form, as its description says (`src/domain/resources`), in the words of the page. */
export function ResourceField<F extends Form>(props: Props<F>) {
  const { form, name, of = {}, words = {}, onValue, ...more } = props;
  const { label: said, kind, choices = [], isShort: _, usual: _usual, ...facts } = form[name] as FormField;
  const label = (useWords().fields as Readonly<Record<string, string>>)[name] ?? said;
  const value = valueOr(form[name] as FormField, of, name);
  const pairs = choices.map((one): Choice => (typeof one === 'string' ? [one, words[one] ?? one] : one));
  const { hint, ...rest } = { ...facts, ...more };
  const field = { label, name, hint, ...rest };
  const list = (value ?? []) as readonly unknown[];
  switch (kind) {
    case 'flag':
      return <Check {...{ label, name, hint }} defaultChecked={value === true} />;
    case 'flags':
      return pairs.map(([choice, text]) => (
        <Check key={choice} label={text} name={name} value={choice} defaultChecked={list.includes(choice)} />
      ));
    case 'choice':
      return (
        <SelectField
          {...{ label, name, hint }}
          defaultValue={String(value ?? '')}
          onChange={(event) => onValue?.(event.target.value)}
          choices={pairs}
        />
      );
    case 'number':
      return <TextField {...field} min={rest.min ?? 0} type="number" defaultValue={Number(value ?? 0)} />;
    case 'list':
    case 'numbers':
      return <TextField {...field} defaultValue={list.join(', ')} />;
    case 'code':
      return <TextArea {...field} defaultValue={String(value ?? '')} />;
    case 'secret':
      return <TextField {...field} type="password" autoComplete="off" defaultValue={String(value ?? '')} />;
    default:
      return (
        <TextField
          {...field}
          defaultValue={String(value ?? '')}
          onChange={(event) => onValue?.(event.target.value)}
        />
      );
  }
}

/** The fields of a resource that a form does not place itself. */
export function OtherFields({ form, placed, of }: { form: Form; placed: readonly string[]; of: object }) {
  const others = Object.keys(form).filter((name) => !placed.includes(name));
  return others.map((name) => <ResourceField key={name} form={form} name={name} of={of} />);
}

/** All fields of a table, in its order. Short ones that follow each other stand side by side. */
export function FormFields({ form, of }: { form: Form; of?: object | undefined }) {
  const groups: { isShort: boolean; names: string[] }[] = [];
  for (const [name, { isShort = false }] of Object.entries(form)) {
    const last = groups.at(-1);
    if (last?.isShort === isShort) last.names.push(name);
    else groups.push({ isShort, names: [name] });
  }
  return (
    <div className="grid gap-[inherit]">
      {groups.map(({ isShort, names }) => (
        <div
          key={names[0]}
          className={`grid ${isShort ? `gap-4 ${names.length === 2 ? 'sm:grid-cols-2' : 'sm:grid-cols-3'}` : 'gap-[inherit]'}`}
        >
          {names.map((name) => (
            <ResourceField key={name} {...{ form, name, of }} />
          ))}
        </div>
      ))}
    </div>
  );
}

/** The values of the fields of a resource that its form has. */
export const formValues = (form: Form, data: FormData): Record<string, unknown> =>
  nested(fieldValues(form, data));

/** Values by the names of the fields. */
export function fieldValues(form: Form, data: FormData): Record<string, unknown> {
  const valueOf = (name: string, kind: string) => {
    if (kind === 'flag') return data.has(name);
    if (kind === 'flags') return data.getAll(name);
    if (kind === 'list') return formList(data, name);
    if (kind === 'numbers') return formList(data, name).map(Number);
    if (kind === 'secret') return asTyped(data, name);
    return kind === 'number' ? Number(formText(data, name)) : formText(data, name);
  };
  // A box that is not ticked is not among the data.
  const present = Object.entries(form).filter(
    ([name, { kind }]) => kind.startsWith('flag') || data.has(name),
  );
  return Object.fromEntries(present.map(([name, { kind }]) => [name, valueOf(name, kind)]));
}
