import type { ReactNode } from 'react';
import { CodeBlock } from '../code/code-block.tsx';
import { Button } from '../controls/button.tsx';
import { useUiWords } from '../text/words.ts';

/** Rows of the height that the content will have. */
export function Skeleton({ rows = 6, label = 'Loading' }: { rows?: number; label?: string }) {
  return (
    <div role="status" aria-label={label} className="grid gap-2 py-2">
      <span className="text-xs text-muted">{label}…</span>
      {Array.from({ length: rows }, (_, row) => (
        <div
          key={row}
          className={`pulse h-6 rounded-sm bg-hover ${['w-full', 'w-11/12', 'w-4/5'][row % 3]}`}
        />
      ))}
    </div>
  );
}

interface Empty {
  title: string;
  /** Describes the missing content and how to get it. */
  text: ReactNode;
  /** A shell command that works as it is. */
  command?: string | undefined;
  children?: ReactNode;
}

export function EmptyState({ title, text, command, children }: Empty) {
  return (
    <section className="my-6 grid max-w-[75ch] grid-cols-1 gap-3 rounded-md border border-dashed border-line p-5">
      <h2 className="text-base">{title}</h2>
      <div className="text-muted">{text}</div>
      {children !== undefined && <div className="flex flex-wrap gap-2">{children}</div>}
      {command !== undefined && <CodeBlock text={command} label="Command" />}
    </section>
  );
}

interface Problem {
  title: string;
  text: string;
  requestId?: string | undefined;
  onRetry?: (() => void) | undefined;
}

export function ErrorPanel({ title, text, requestId, onRetry }: Problem) {
  const words = useUiWords();
  return (
    <section
      role="alert"
      className="my-4 grid max-w-[75ch] grid-cols-1 gap-2 rounded-md border border-bad bg-bad-ground p-4"
    >
      <h2 className="text-base text-bad">{title}</h2>
      <p>{text}</p>
      {requestId !== undefined && requestId !== '' && (
        <p className="text-xs">
          {words.requestId} <code className="font-mono">{requestId}</code>
        </p>
      )}
      {onRetry !== undefined && (
        <div>
          <Button onClick={onRetry} icon="again">
            {words.tryAgain}
          </Button>
        </div>
      )}
    </section>
  );
}
