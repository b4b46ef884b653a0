import { jsonType } from '../../ui/code/json-type.ts';

/** The suggestions of the editor in a function, from the contract in docs/functions.md. */
export interface Contract {
  /** The names that a function can use, with their values: its argument, the builtins and the console. */
  scope: object;
  /** Further names that fit after a text: fields of the argument where it is taken apart, and what may be returned. */
  names(before: string): readonly Name[];
}

interface Name {
  label: string;
  detail: string;
  /** Higher ones come first. */
  boost?: number;
}

/** No network, files or timers. */
const BUILTINS = { Array, BigInt, Date, Intl, JSON, Map, Math, Number, Object, RegExp, Set, String };
const { log, info, warn, error } = console;
const USABLE = { ...BUILTINS, console: { log, info, warn, error } };

const ARGUMENT = /\btransform\s*(?:=\s*(?:async\s*)?(?:function\s*\w*\s*)?)?\(?\s*([\w$]+)\s*(?:\)|=>|,)/;
/** The argument is being taken apart: `function transform({ id, `. */
const PATTERN = /\btransform\s*(?:=\s*(?:async\s*)?(?:function\s*\w*\s*)?)?\(\s*\{([^{}()]*)$/;
const RETURN = /(?:\breturn\s+|=>\s*\(?\s*)$/;

/** `payload` is that of a real event. It is undefined if there is none. */
export function functionContract(text: string, payload: unknown): Contract {
  const name = ARGUMENT.exec(text)?.[1];
  const fields = isObject(payload) ? Object.entries(payload) : [];
  return {
    scope: { ...USABLE, ...(name !== undefined && { [name]: payload }) },
    names: (before) => {
      const taken = PATTERN.exec(before)?.[1]?.split(/[\s,]+/);
      if (taken !== undefined)
        return fields
          .filter(([field]) => !taken.includes(field))
          .map(([label, value]) => ({ label, detail: jsonType(value) }));
      if (!RETURN.test(before) || name === undefined) return [];
      const other = isObject(payload)
        ? { label: `{ ...${name} }`, detail: 'JSON to send: the payload with changes' }
        : { label: `{ value: ${name} }`, detail: 'JSON to send: an object with the payload' };
      return [
        { label: name, detail: 'JSON to send: the payload as it is', boost: 2 },
        { ...other, boost: 1 },
      ];
    },
  };
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
