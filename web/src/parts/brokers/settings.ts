import { asTyped, formList, formText } from '../../ui/controls/form-text.ts';

/** A field as its description has it (`src/domain/resources/broker-fields.ts`). */
export interface Field {
  readonly label: string;
  readonly kind: string;
  readonly choices?: readonly string[];
  readonly hint?: string;
  readonly required?: boolean;
}

export interface Settings {
  /** The names of the inputs begin with it, as the API says them in its errors. */
  prefix: string;
  form: Readonly<Record<string, Field>>;
  /** The settings that are stored. */
  stored?: object | null | undefined;
}

export const isSecret = ({ kind }: Field): boolean => kind === 'secret' || kind === 'bytes';

/** The settings in a form. A group of which nothing is given is left out. */
export function settingsIn(data: FormData, { prefix, form, stored }: Settings): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  const groups = new Map<string, Record<string, unknown>>();
  const put = (name: string, value: unknown) => {
    const [group = '', leaf] = name.split('.');
    if (leaf === undefined) settings[name] = value;
    else groups.set(group, { ...groups.get(group), [leaf]: value });
  };
  for (const [name, field] of Object.entries(form)) put(name, valueIn(data, `${prefix}.${name}`, field));
  for (const [group, values] of groups) if (Object.values(values).some(Boolean)) settings[group] = values;
  for (const [name, field] of Object.entries(form)) keep(settings, { name, field, stored });
  return settings;
}

/** Puts a stored secret where none is typed. One of a group whose other texts are empty is given up with them. */
function keep(
  settings: Record<string, unknown>,
  { name, field, stored }: { name: string; field: Field; stored: Settings['stored'] },
): void {
  const known = valueAt(stored, name);
  if (!isSecret(field) || !known) return;
  const [group = '', leaf] = name.split('.');
  if (leaf === undefined) settings[name] ??= known;
  const others = settings[group] as Record<string, unknown> | undefined;
  if (leaf === undefined || others === undefined) return;
  const isUsed = Object.values(others).some((value) => typeof value === 'string');
  if (isUsed) others[leaf] ??= known;
}

function valueIn(data: FormData, name: string, field: Field): unknown {
  if (field.kind === 'flag') return data.has(name);
  if (field.kind === 'list') return formList(data, name);
  return (field.kind === 'secret' ? asTyped(data, name) : formText(data, name)) || undefined;
}

export function valueAt(settings: object | null | undefined, name: string): unknown {
  return name
    .split('.')
    .reduce<unknown>((part, key) => (part as Record<string, unknown> | null | undefined)?.[key], settings);
}
