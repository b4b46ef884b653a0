import type { TObject, TSchema } from 'typebox';
import { credential, open } from '../../platform/json/schema-marks.ts';
import { nullable, oneOf, Text, Type, UNDECLARED } from '../../platform/type.ts';
import { type BrokerField, type BrokerUse, isSecretField, MAX_CHARS } from './broker-field.ts';
import { type BrokerFieldsKind, brokerFields, fieldsFor } from './broker-fields.ts';

/** The types and schemas of the settings of a kind of broker, from the description of its fields. */
type Used<Fields, Use extends BrokerUse> = {
  [Name in keyof Fields as Fields[Name] extends { only: Exclude<BrokerUse, Use> }
    ? never
    : Name]: Fields[Name];
};
type Stored<Field> = Field extends { kind: 'flag' }
  ? boolean
  : Field extends { kind: 'list' }
    ? string[]
    : Field extends { isNullable: true }
      ? string | null
      : string;
type Group<Fields, Name extends string> = {
  [Path in keyof Fields as Path extends `${Name}.${infer Leaf}` ? Leaf : never]: Stored<Fields[Path]>;
};
type Settings<Fields> = {
  [Name in keyof Fields as Name extends `${string}.${string}`
    ? never
    : Fields[Name] extends { isLeftOut: true }
      ? never
      : Name]: Stored<Fields[Name]>;
} & {
  [Name in keyof Fields as Name extends `${infer First}.${string}`
    ? First
    : never]: Name extends `${infer First}.${string}` ? Group<Fields, First> | null : never;
} & { [Name in keyof Fields as Fields[Name] extends { isLeftOut: true } ? Name : never]?: 'workload' };

/** The settings of a kind of broker as they are stored. */
export type BrokerSettingsOf<Kind extends BrokerFieldsKind, Use extends BrokerUse> = Settings<
  Used<(typeof brokerFields)[Kind], Use>
>;

const MAX_ITEMS = 100;

/** Every member is optional in a request. `readBroker` checks which of them a kind requires. */
export const brokerInput = (kind: BrokerFieldsKind, use: BrokerUse): TObject =>
  nested(kind, use, (field) => Type.Optional(inputOf(field)));

export const brokerOutput = (kind: BrokerFieldsKind, use: BrokerUse): TObject =>
  nested(kind, use, outputOf, (group) => nullable(group));

/** The fields of a group alone. */
export const groupInput = (kind: BrokerFieldsKind, group: string): TObject =>
  Type.Object(groupOf(kind, group, (field) => Type.Optional(inputOf(field))));
export const groupOutput = (kind: BrokerFieldsKind, group: string): TObject =>
  Type.Object(groupOf(kind, group, outputOf));

type Schemas = Record<string, TSchema>;

const groupOf = (kind: BrokerFieldsKind, group: string, schemaOf: (field: BrokerField) => TSchema): Schemas =>
  Object.fromEntries(
    Object.entries<BrokerField>(brokerFields[kind])
      .filter(([name]) => name.startsWith(`${group}.`))
      .map(([name, field]) => [name.slice(group.length + 1), schemaOf(field)]),
  );

function nested(
  kind: BrokerFieldsKind,
  use: BrokerUse,
  schemaOf: (field: BrokerField) => TSchema,
  ofGroup: (group: TObject) => TSchema = Type.Optional,
): TObject {
  const fields: Schemas = {};
  for (const [name, field] of Object.entries(fieldsFor(kind, use))) {
    const [group = '', leaf] = name.split('.');
    fields[group] =
      leaf === undefined ? schemaOf(field) : ofGroup(Type.Object(groupOf(kind, group, schemaOf)));
    if (field.alias !== undefined && ofGroup === Type.Optional) fields[field.alias] = schemaOf(field);
  }
  return Type.Object(fields);
}

/** The hint, with the condition and the default. */
function descriptionOf({ hint, usual, when }: BrokerField): string | undefined {
  const values = typeof usual === 'object' ? Object.entries(usual.values) : [];
  const by = values.map(([value, text]) => `${text} with ${value}`).join(', ');
  const text = typeof usual === 'string' ? usual : by;
  const wanted = when?.is.filter((value) => value !== '').join(' or ');
  const only = when && (wanted ? `Only with ${when.field} ${wanted}.` : `Not with ${when.field}.`);
  return [hint, only, text && `Default: ${text}.`].filter(Boolean).join(' ') || undefined;
}

function inputOf(field: BrokerField): TSchema {
  const schema = plainInput(field);
  if (isSecretField(field)) return credential(schema);
  return field.isOpen === true ? open(schema) : schema;
}

function plainInput(field: BrokerField): TSchema {
  const { kind, of = [], maxChars = MAX_CHARS } = field;
  const hint = descriptionOf(field);
  switch (kind) {
    case 'text':
    case 'secret':
      return Text(maxChars, hint);
    case 'choice':
      return oneOf([...of, ''], hint);
    case 'flag':
      return Type.Boolean();
    case 'list':
      return Type.Array(Text(maxChars), { maxItems: MAX_ITEMS, ...(hint && { description: hint }) });
    case 'bytes':
      return Type.Unsafe<unknown>({
        ...(hint && { description: hint }),
        // Generators fail on a choice of both.
        anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'integer' }, $comment: UNDECLARED }],
      });
  }
}

function outputOf(field: BrokerField): TSchema {
  if (field.kind === 'flag') return Type.Boolean();
  if (field.kind === 'list') return Type.Array(Type.String());
  if (field.isLeftOut === true) return Type.Optional(oneOf(field.of ?? []));
  if (field.kind === 'choice') return oneOf([...(field.of ?? []), '']);
  if (field.isNullable === true) return nullable(Type.String());
  return isSecretField(field) ? Type.String({ format: 'password' }) : Type.String();
}
