import type { FieldProblem } from 'posthorn-client';
import {
  type BrokerField,
  type BrokerFields,
  hasMeaning,
  isSecretField,
  problemOf,
  textsOf,
} from '../../../../src/domain/brokers/broker-field.ts';
import { FieldError, problemSentence } from '../../data/field-error.ts';
import { valueAt } from '../../data/field-paths.ts';
import { asTyped, formList, formText } from '../../ui/controls/form-text.ts';

export interface Settings {
  /** The names of the inputs begin with it, as the API says them in its errors. */
  prefix: string;
  form: BrokerFields;
  /** The settings that are stored. */
  stored?: object | null | undefined;
}

interface Read {
  settings: Record<string, unknown>;
  problems: readonly FieldProblem[];
}

/** The settings in a form, which are checked as the API checks them. */
export function settingsIn(data: FormData, of: Settings): Record<string, unknown> {
  const { settings, problems } = readSettings(data, of);
  if (problems.length > 0) throw new FieldError(...problems);
  return settings;
}

/** The settings in a form, and what is wrong with them. A group of which nothing is given is left out. */
export function readSettings(data: FormData, { prefix, form, stored }: Settings): Read {
  const settings: Record<string, unknown> = {};
  const groups = new Map<string, Record<string, unknown>>();
  const put = (name: string, value: unknown) => {
    const [group = '', leaf] = name.split('.');
    if (leaf === undefined) settings[name] = value;
    else groups.set(group, { ...groups.get(group), [leaf]: value });
  };
  const textOf = textsOf(form, (name) => formText(data, `${prefix}.${name}`));
  const meant = Object.entries(form).filter(([, field]) => hasMeaning(field, textOf));
  for (const [name, field] of meant) put(name, valueIn(data, `${prefix}.${name}`, field));
  for (const [group, values] of groups) if (Object.values(values).some(Boolean)) settings[group] = values;
  for (const [name, field] of meant) keep(settings, { name, field, stored });
  const problems = meant.flatMap(([name, field]) => {
    // A group may be left out as a whole.
    if (name.includes('.') && settings[name.split('.')[0] ?? ''] === undefined) return [];
    const [place, problem] = problemOf(field, valueAt(settings, name), textOf) ?? [];
    if (problem === undefined) return [];
    return [{ field: `${prefix}.${name}${place}`, problem: problemSentence(problem) }];
  });
  return { settings, problems };
}

/** Puts a stored secret where none is typed. One of a group whose other texts are empty is given up with them. */
function keep(
  settings: Record<string, unknown>,
  { name, field, stored }: { name: string; field: BrokerField; stored: Settings['stored'] },
): void {
  const known = valueAt(stored, name);
  if (!isSecretField(field) || !known) return;
  const [group = '', leaf] = name.split('.');
  if (leaf === undefined) settings[name] ??= known;
  const others = settings[group] as Record<string, unknown> | undefined;
  if (leaf === undefined || others === undefined) return;
  const isUsed = Object.values(others).some((value) => typeof value === 'string');
  if (isUsed) others[leaf] ??= known;
}

function valueIn(data: FormData, name: string, field: BrokerField): unknown {
  if (field.kind === 'flag') return data.has(name);
  if (field.kind === 'list') return formList(data, name);
  return (field.kind === 'secret' ? asTyped(data, name) : formText(data, name)) || undefined;
}
