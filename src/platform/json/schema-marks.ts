import type { Static, TObject, TSchema } from 'typebox';

/** Facts of a field that JSON Schema has no word for. They are on its schema, where no reader of JSON sees them. */
interface Marks {
  /** The value that is stored if a request names none. */
  readonly usual?: unknown;
  /** The end of a sentence about a value that is wrong. Undefined: it is right. */
  check?(value: never): string | undefined;
  readonly secrecy?: Secrecy;
  /** The value in a response to those who see no secrets. */
  readonly hiddenAs?: unknown;
  /** An empty text counts as none. */
  readonly isRequired?: true;
  /** Its field in the forms of the dashboard. */
  readonly form?: FormFacts;
}

export interface FormFacts {
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
  /** The choices in words. */
  readonly words?: Readonly<Record<string, string>>;
  /** It stands side by side with others. */
  readonly isShort?: true;
  /** The value in the form of settings that are not made. */
  readonly usual?: string | number;
}

/**
 * The mark of a text that is stored sealed. `credential`: no file of a project holds it. `open`: records and people with few
 * rights see it. Without a mark they do not, so that a new field is hidden.
 */
type Secrecy = 'credential' | 'open';

const MARKS = Symbol('marks');

export const mark = <S extends TSchema>(schema: S, marks: Marks): S => ({
  ...schema,
  [MARKS]: { ...marksOf(schema), ...marks },
});

export const marksOf = (schema: TSchema): Marks => (schema as { [MARKS]?: Marks })[MARKS] ?? {};

export const credential = <S extends TSchema>(schema: S): S => mark(schema, { secrecy: 'credential' });
export const hiddenAs = <S extends TSchema>(value: unknown, schema: S): S =>
  mark(schema, { hiddenAs: value });
export const open = <S extends TSchema>(schema: S): S => mark(schema, { secrecy: 'open' });

export const usual = <S extends TSchema>(value: Static<S>, schema: S): S => mark(schema, { usual: value });

type Properties = Readonly<Record<string, TSchema>>;

/** The paths of the fields with a mark, such as `auth.password`. */
export const pathsOf = (secrecy: Secrecy, properties: Properties): string[] =>
  Object.entries(properties).flatMap(([name, field]) =>
    marksOf(field).secrecy === secrecy
      ? [name]
      : pathsOf(secrecy, (field as Partial<TObject>).properties ?? {}).map((path) => `${name}.${path}`),
  );

const EMPTY: Readonly<Record<string, unknown>> = { string: '', integer: 0, boolean: false, array: [] };

/** The usual values of fields: those with the mark, an empty value of the type, or nothing. */
export const usualOf = <T extends Properties>(fields: T): { [Name in keyof T]: Static<T[Name]> } =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      marksOf(field).usual ?? EMPTY[(field as { type?: string }).type ?? ''] ?? null,
    ]),
  ) as { [Name in keyof T]: Static<T[Name]> };
