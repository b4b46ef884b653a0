import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { completionPath, scopeCompletionSource } from '@codemirror/lang-javascript';
import type { Extension } from '@codemirror/state';
import { jsonType } from './json-type.ts';
import { keyPlace } from './key-place.ts';

/** The suggestions of the editor. They may change while the editor is open. */
export interface Suggestions {
  /** In JSON: the keys that may stand under a path. */
  keys?: ((path: readonly string[]) => readonly string[]) | undefined;
  /** In JavaScript: the names that are there, with their values. */
  scope?: object | undefined;
  /** In JavaScript: what else fits after a text. */
  names?: ((before: string) => readonly Completion[]) | undefined;
}

export function completion(get: () => Suggestions): Extension {
  const source = (context: CompletionContext): CompletionResult | null => {
    const { keys, scope, names } = get();
    if (scope !== undefined) return completeName(context, scope, names);
    return keys === undefined ? null : completeKey(context, keys);
  };
  return autocompletion({ override: [source], icons: false });
}

function completeName(
  context: CompletionContext,
  scope: object,
  names: Suggestions['names'],
): CompletionResult | null {
  const word = context.matchBefore(/[\w$]*/);
  const from = word?.from ?? context.pos;
  const more = from < context.pos || context.explicit ? (names?.(context.state.sliceDoc(0, from)) ?? []) : [];
  const found = scopeCompletionSource(scope)(context) as CompletionResult | null;
  if (found === null && more.length === 0) return null;
  const target = completionPath(context)?.path.reduce<object | undefined>(valueOf, scope);
  const options = (found?.options ?? [])
    .filter(({ label }) => !label.startsWith('__') && !more.some((one) => one.label === label))
    .map((option) => ({ ...option, ...typeDetail(target, option.label) }));
  return { from, options: [...more, ...options], validFor: /^[\w$]*$/ };
}

const valueOf = (target: object | undefined, name: string): object | undefined =>
  (target as Record<string, object | undefined> | undefined)?.[name];

/** Functions are known by their names. */
function typeDetail(target: object | undefined, name: string): { detail?: string } {
  const value = valueOf(target, name);
  return value === undefined || typeof value === 'function' ? {} : { detail: jsonType(value) };
}

function completeKey(
  { state, pos, explicit }: CompletionContext,
  keys: (path: readonly string[]) => readonly string[],
): CompletionResult | null {
  const place = keyPlace(state.sliceDoc(0, pos));
  if (place === null || (place.from === pos && !explicit)) return null;
  const options = keys(place.path).map((key) => ({
    label: JSON.stringify(key),
    apply: `${JSON.stringify(key)}: `,
  }));
  return options.length === 0 ? null : { from: place.from, options };
}
