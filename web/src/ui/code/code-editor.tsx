import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { json } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';

export interface EditorProps {
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
});

const colours = HighlightStyle.define([
  { tag: [tags.string, tags.regexp], color: 'var(--color-ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--color-run)' },
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--color-retry)' },
  { tag: tags.comment, color: 'var(--color-muted)' },
]);

/**
 * The editor lives in a shadow root: there it adopts its styles as sheets, which the policy of the page allows, and does
 * not write style elements, which it does not. Tab moves on, as everywhere on the page.
 */
export function CodeEditor({ label, language, initial, onChange }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const change = useRef(onChange);
  useEffect(() => {
    change.current = onChange;
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
