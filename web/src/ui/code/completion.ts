import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { scopeCompletionSource } from '@codemirror/lang-javascript';
import type { Extension } from '@codemirror/state';
import { keyPlace } from './key-place.ts';

/** What the editor suggests. It may change while the editor is open. */
export interface Suggestions {
  /** In JSON: the keys that may stand under a path. */
  keys?: ((path: readonly string[]) => readonly string[]) | undefined;
  /** In JavaScript: the names that are there, with their values. */
  scope?: object | undefined;
}

export function completion(get: () => Suggestions): Extension {
  const source = (context: CompletionContext): CompletionResult | null | Promise<CompletionResult | null> => {
    const { keys, scope } = get();
    if (scope !== undefined) return scopeCompletionSource(scope)(context);
    return keys === undefined ? null : completeKey(context, keys);
  };
  return autocompletion({ override: [source], icons: false });
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
