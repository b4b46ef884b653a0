import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { json } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { completion, type Suggestions } from './completion.ts';

export interface EditorProps extends Suggestions {
  label: string;
  language: 'json' | 'javascript';
  /** The text that it starts with. */
  initial: string;
  onChange(text: string): void;
}

const theme = EditorView.theme({
  '&': { fontSize: '12px', color: 'var(--color-ink)', backgroundColor: 'var(--color-ground)' },
  '.cm-content': { fontFamily: 'var(--font-mono)', minHeight: '6rem', caretColor: 'var(--color-ink)' },
  '.cm-gutters': { backgroundColor: 'var(--color-panel)', color: 'var(--color-muted)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--color-ink)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-tooltip': { backgroundColor: 'var(--color-raised)', border: '1px solid var(--color-edge)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--font-mono)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--color-chosen)',
    color: 'var(--color-ink)',
  },
});

const colours = HighlightStyle.define([
  { tag: [tags.string, tags.regexp], color: 'var(--color-string)' },
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--color-accent)' },
  { tag: tags.comment, color: 'var(--color-muted)' },
]);

/**
 * The editor lives in a shadow root: there it adopts its styles as sheets, which the policy of the page allows, and does
 * not write style elements, which it does not. Tab moves on, as everywhere on the page.
 */
export function CodeEditor({ label, language, initial, onChange, keys, scope, names }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const change = useRef(onChange);
  const suggestions = useRef<Suggestions>({});
  useEffect(() => {
    change.current = onChange;
    suggestions.current = { keys, scope, names };
  });
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    const view = new EditorView({
      doc: initial,
      root,
      parent: root,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        language === 'json' ? json() : javascript(),
        syntaxHighlighting(colours),
        completion(() => suggestions.current),
        theme,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) change.current(update.state.doc.toString());
        }),
      ],
    });
    return () => view.destroy();
  }, [initial, language, label]);
  return (
    <div ref={host} className="overflow-hidden rounded-md border border-edge focus-within:border-accent" />
  );
}
