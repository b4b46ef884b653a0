import { lazy, Suspense } from 'react';
import { Skeleton } from '../page/states.tsx';
import type { EditorProps } from './code-editor.tsx';

const Lazy = lazy(() => import('./code-editor.tsx').then(({ CodeEditor }) => ({ default: CodeEditor })));

/** An editor for JSON and JavaScript. It is a part of its own, loaded where something is edited. */
export function Editor(props: EditorProps) {
  return (
    <Suspense fallback={<Skeleton label="Loading the editor" rows={5} />}>
      <Lazy {...props} />
    </Suspense>
  );
}
