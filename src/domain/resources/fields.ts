import type { TOptional, TSchema } from 'typebox';
import { oneOf, Type } from '../../platform/type.ts';

/**
 * The fields of a resource, described once. Columns, defaults, schemas, meta events, the portal's view, the file of a
 * project, the labels of forms and docs/settings.md follow from the description.
 *
 * Each field has a column of its own. Credentials are not among them: they are sealed together, and written by hand.
 */
export interface Field<Value = unknown, Input extends TSchema = TSchema, Output extends TSchema = TSchema> {
  /** The value of a new resource that does not name the field. */
  readonly usual: Value;
  /** In a request. */
  readonly input: Input;
  /** In a response. */
  readonly output: Output;
  readonly facts: Facts;
}

export interface Facts {
  /** The sentence for docs/settings.md. The API's document shows it without the links. */
  readonly text: string;
  /** The label in the forms of the dashboard. */
  readonly label: string | Missing;
  /** Absent: the file of a project has it. */
  readonly file?: Missing;
  /** A create must name it. */
  readonly required?: true;
  /** Requests may set it: always, on create only, or never, because other calls change it. */
  readonly given?: 'create' | 'never';
  /** Responses do not show it under its own name. */
  readonly hidden?: true;
  /** Portal callers see its text. Otherwise text is masked. */
  readonly portal?: true;
  /** Meta events carry it. */
  readonly meta?: true;
}

interface Missing {
  readonly why: string;
}

export type Fields = Readonly<Record<string, Field>>;

type Described<Value, Input extends TSchema, Output extends TSchema, F> = Field<Value, Input, Output> & {
  readonly facts: F;
};

/** The value of each field, as it is stored. */
export type Values<T extends Fields> = {
  -readonly [Name in keyof T]: T[Name] extends Field<infer Value> ? Value : never;
};

/** A field of any schema. A request may give it in another form than a response shows. */
export function field<const F extends Facts, Value, Input extends TSchema, Output extends TSchema>(
  { usual, input, output }: { usual: Value; input: Input; output: Output },
  facts: F,
): Described<Value, Input, Output, F> {
  const described = <S extends TSchema>(schema: S): S => ({ ...schema, description: facts.text });
  return { usual, input: described(input), output: described(output), facts };
}

export const text = <const F extends Facts>(maxLength: number, facts: F) =>
  field({ usual: '', input: Type.String({ maxLength }), output: Type.String() }, facts);

/** Text that an update cannot make empty. */
export const name = field(
  { usual: '', input: Type.String({ minLength: 1, maxLength: 256 }), output: Type.String() },
  { text: 'Name for people.', label: 'Name', required: true, portal: true, meta: true },
);

/** A whole number from 0 up. */
export const count = <const F extends Facts>(maximum: number, facts: F) =>
  field({ usual: 0, input: Type.Integer({ minimum: 0, maximum }), output: Type.Integer() }, facts);

export const flag = <const F extends Facts>(usual: boolean, facts: F) =>
  field({ usual, input: Type.Boolean(), output: Type.Boolean() }, facts);

/** One of a list. Empty text in a request means that it is not given. */
export const choice = <Value extends string, const F extends Facts>(
  { of, usual }: { of: readonly NoInfer<Value>[]; usual: Value },
  facts: F,
) => field({ usual, input: oneOf<Value | ''>([...of, '']), output: oneOf<Value>(of) }, facts);

/** The name of a resource in the file of a project. */
export const key = field(
  {
    usual: '',
    input: Type.String({ pattern: '^$|^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' }),
    output: Type.String(),
  },
  {
    text: 'Name in the [file of a project](cli.md#a-project-as-a-file), unique per kind.',
    label: { why: 'the file of a project gives it' },
    file: { why: 'every item of the file has one' },
    portal: true,
    meta: true,
  },
);

/** The fields without those that have a fact. */
type Without<T extends Fields, Fact extends Partial<Facts>> = {
  [Name in keyof T as T[Name]['facts'] extends Fact ? never : Name]: T[Name];
};
type Required<T extends Fields> = Omit<T, keyof Without<T, { required: true }>>;
type OnUpdate<T extends Fields> = Without<T, { given: 'create' | 'never' }>;
type OnCreate<T extends Fields> = Without<T, { given: 'never' }>;
type Inputs<T extends Fields> = { [Name in keyof T]: T[Name]['input'] };
type Optionals<T extends Fields> = { [Name in keyof T]: TOptional<T[Name]['input']> };
type Outputs<T extends Fields> = { [Name in keyof T]: T[Name]['output'] };

/** Calls `make` for each field that passes. */
function mapped(
  fields: Fields,
  passes: (facts: Facts) => boolean,
  make: (field: Field, name: string) => unknown,
): never {
  const kept = Object.entries(fields).filter(([, { facts }]) => passes(facts));
  return Object.fromEntries(kept.map(([fieldName, one]) => [fieldName, make(one, fieldName)])) as never;
}

const all = () => true;

export const usualValues = <T extends Fields>(fields: T): Values<T> =>
  mapped(fields, all, ({ usual }) => usual);

/** The properties of the schema of an update: every one is optional. */
export const updateInputs = <T extends Fields>(fields: T): Optionals<OnUpdate<T>> =>
  mapped(
    fields,
    ({ given }) => given === undefined,
    ({ input }) => Type.Optional(input),
  );

/** The properties of the schema of a create. */
export const createInputs = <T extends Fields>(
  fields: T,
): Optionals<Without<OnCreate<T>, { required: true }>> & Inputs<Required<T>> =>
  mapped(
    fields,
    ({ given }) => given !== 'never',
    ({ input, facts }) => (facts.required ? input : Type.Optional(input)),
  );

/** The properties of the schema of a response. */
export const outputs = <T extends Fields>(fields: T): Outputs<Without<T, { hidden: true }>> =>
  mapped(
    fields,
    ({ hidden }) => !hidden,
    ({ output }) => output,
  );

/** A row as responses show it. */
export const shownValues = <T extends Fields>(
  fields: T,
  row: Values<T>,
): Values<Without<T, { hidden: true }>> =>
  mapped(
    fields,
    ({ hidden }) => !hidden,
    (_field, fieldName) => row[fieldName as keyof T],
  );

/** A row as meta events show it. */
export const metaValues = <T extends Fields>(fields: T, row: Values<T>): Partial<Values<T>> =>
  mapped(
    fields,
    ({ meta }) => meta === true,
    (_field, fieldName) => row[fieldName as keyof T],
  );

/** The fields in the file of a project with their defaults. Undefined: the file must name it. */
export const fileValues = (fields: Fields): Record<string, unknown> =>
  mapped(
    fields,
    ({ file }) => file === undefined,
    ({ usual, facts }) => (facts.required ? undefined : usual),
  );

/** A field of a form. */
export interface FormField {
  label: string;
  kind: 'text' | 'number' | 'flag' | 'choice' | 'other';
  choices?: string[];
}

const formKinds: Record<string, FormField['kind']> = {
  string: 'text',
  integer: 'number',
  boolean: 'flag',
};

/** The fields of the dashboard's forms. */
export const formFields = (fields: Fields): Record<string, FormField> =>
  mapped(
    fields,
    ({ label }) => typeof label === 'string',
    ({ facts, output }) => {
      const { type = '', enum: choices } = output as { type?: string; enum?: string[] };
      const kind = choices === undefined ? (formKinds[type] ?? 'other') : 'choice';
      return { label: facts.label, kind, ...(choices && { choices }) };
    },
  );

export const portalNames = (fields: Fields): string[] =>
  Object.entries(fields).flatMap(([fieldName, { facts }]) => (facts.portal ? [fieldName] : []));
