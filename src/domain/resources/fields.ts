import type { Static, TObject, TOptional, TSchema } from 'typebox';
import { marksOf } from '../../platform/json/schema-marks.ts';
import { answered, oneOf, Type } from '../../platform/type.ts';

/**
 * The fields of a resource, described once. Columns, defaults, schemas, meta events, the portal's view, the file of a
 * project, the labels of forms and docs/settings.md follow from the description.
 *
 * Each field has a column of its own, and may be a table of parts. Credentials are not among them: they are sealed together,
 * and written by hand.
 */
export interface Field<Value = unknown, Input extends TSchema = TSchema, Output extends TSchema = TSchema> {
  /** The value of a new resource that does not name the field. */
  readonly usual: Value;
  /** In a request. */
  readonly input: Input;
  /** In a response. */
  readonly output: Output;
  readonly facts: Facts;
  /** The table of a group. */
  readonly parts?: TObject;
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

/** A field of any schema. `output`: if a request gives it in another form than a response shows. */
export function field<const F extends Facts, Value, Input extends TSchema, Output extends TSchema = Input>(
  { usual, input, output }: { usual: Value; input: Input; output?: Output },
  facts: F,
): Described<Value, Input, Output, F> {
  const described = <S extends TSchema>(schema: S): S => ({ ...schema, description: facts.text });
  return {
    usual,
    input: described(input),
    output: described(output ?? (answered(input) as unknown as Output)),
    facts,
  };
}

export const text = <const F extends Facts>(maxLength: number, facts: F) =>
  field({ usual: '', input: Type.String({ maxLength }) }, facts);

/** Text that an update cannot make empty. */
export const name = field(
  { usual: '', input: Type.String({ minLength: 1, maxLength: 256 }) },
  { text: 'Name for people.', label: 'Name', required: true, portal: true, meta: true },
);

/** A whole number from 0 up. */
export const count = <const F extends Facts>(maximum: number, facts: F) =>
  field({ usual: 0, input: Type.Integer({ minimum: 0, maximum }) }, facts);

export const flag = <const F extends Facts>(usual: boolean, facts: F) =>
  field({ usual, input: Type.Boolean() }, facts);

/** One of a list. Empty text in a request means that it is not given. */
export const choice = <Value extends string, const F extends Facts>(
  { of, usual }: { of: readonly NoInfer<Value>[]; usual: Value },
  facts: F,
) => field({ usual, input: oneOf<Value | ''>([...of, '']), output: oneOf<Value>(of) }, facts);

/**
 * Settings that are made together, or not at all: null. A request names parts of them, and removes them with an empty object.
 * Responses leave out those that are not made.
 */
export const group = <T extends TObject, Input extends TSchema = ReturnType<typeof Type.Partial<T>>>(
  parts: T,
  facts: Facts,
  input = Type.Partial(parts) as TSchema as Input,
) => ({
  ...field({ usual: null as Static<T> | null, input }, { ...facts, meta: true } as const),
  output: Type.Optional(parts),
  parts,
});

/** The name of a resource in the file of a project. */
export const key = field(
  {
    usual: '',
    input: Type.String({ pattern: '^$|^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' }),
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
/** The values of a response. A group that is not made is not among them. */
type Shown<T extends Fields> = {
  [Name in keyof T as T[Name]['parts'] extends TObject ? never : Name]: Values<T>[Name];
} & { [Name in keyof T as T[Name]['parts'] extends TObject ? Name : never]?: NonNullable<Values<T>[Name]> };

/** The fields with a fact, or without. */
const having = (fields: Fields, has: (facts: Facts) => boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, { facts }]) => has(facts)));

const mapped = (fields: Fields, make: (field: Field, name: string) => unknown): never =>
  Object.fromEntries(
    Object.entries(fields).map(([fieldName, one]) => [fieldName, make(one, fieldName)]),
  ) as never;

const shown = (fields: Fields) => having(fields, ({ hidden }) => !hidden);

export const usualValues = <T extends Fields>(fields: T): Values<T> => mapped(fields, ({ usual }) => usual);

/** The properties of the schema of an update: every one is optional. */
export function updateInputs<T extends Fields>(fields: T): Optionals<OnUpdate<T>> {
  const given = having(fields, (facts) => facts.given === undefined);
  return mapped(given, ({ input }) => Type.Optional(input));
}

/** The properties of the schema of a create. */
export function createInputs<T extends Fields>(
  fields: T,
): Optionals<Without<OnCreate<T>, { required: true }>> & Inputs<Required<T>> {
  const given = having(fields, (facts) => facts.given !== 'never');
  return mapped(given, ({ input, facts }) => (facts.required ? input : Type.Optional(input)));
}

/** The properties of the schema of a response. */
export const outputs = <T extends Fields>(fields: T): Outputs<Without<T, { hidden: true }>> =>
  mapped(shown(fields), ({ output }) => output);

/** A row as responses show it. */
export const shownValues = <T extends Fields>(
  fields: T,
  row: Values<T>,
): Shown<Without<T, { hidden: true }>> =>
  Object.fromEntries(
    Object.entries(shown(fields))
      .filter(([fieldName, { parts }]) => parts === undefined || row[fieldName] !== null)
      .map(([fieldName]) => [fieldName, row[fieldName]]),
  ) as never;

/** A row, or an item of a file, with the parts of its groups that are not named: they may be newer than it is. */
export const withUsualParts = <Row extends object>(fields: Fields, given: Row): Row => {
  const row = given as Readonly<Record<string, unknown>>;
  const groups = Object.entries(fields).filter(([fieldName, { parts }]) => parts && row[fieldName]);
  const completed = groups.map(([fieldName, { parts }]) => [
    fieldName,
    { ...usualParts(parts as TObject), ...(row[fieldName] as object) },
  ]);
  return { ...given, ...Object.fromEntries(completed) };
};

const usualParts = ({ properties }: TObject): object =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, part]) => {
      const { usual } = marksOf(part);
      return usual === undefined ? [] : [[name, usual]];
    }),
  );

/** A row as meta events show it. */
export const metaValues = <T extends Fields>(fields: T, row: Values<T>): Partial<Values<T>> =>
  mapped(
    having(fields, ({ meta }) => meta === true),
    (_field, fieldName) => row[fieldName],
  );

/** The fields in the file of a project with their defaults. Undefined: the file must name it. */
export function fileValues(fields: Fields): Record<string, unknown> {
  const inFile = having(fields, ({ file }) => file === undefined);
  return mapped(inFile, ({ usual, facts }) => (facts.required ? undefined : usual));
}

export const portalNames = (fields: Fields): string[] =>
  Object.keys(having(fields, ({ portal }) => portal === true));
