import { useState } from 'react';
import { Button } from '../controls/button.tsx';
import { CopyButton, CopyIcon } from '../text/copy.tsx';
import { useUiWords } from '../text/words.ts';

/** The largest text that is shown as a tree. Above it is shown as it is. */
const MAX_TREE_CHARS = 200_000;
const MAX_ENTRIES = 200;

interface Props {
  value: unknown;
  /** The text as it was received, if there is one. */
  raw?: string;
  label: string;
}

/** JSON that folds. Nothing in it is executed or loaded. */
export function JsonView({ value, raw, label }: Props) {
  const text = raw !== undefined && raw !== '' ? raw : JSON.stringify(value);
  const isTree = typeof value === 'object' && value !== null && text.length <= MAX_TREE_CHARS;
  const [asText, setAsText] = useState(!isTree);
  const [find, setFind] = useState('');
  const words = useUiWords();
  return (
    <div className="rounded-md border border-line">
      <div className="flex flex-wrap items-center gap-2 border-b border-line bg-panel p-1.5 pl-3">
        <span className="grow text-xs text-muted">{size(text)}</span>
        {!asText && (
          <input
            aria-label={`${words.searchIn}: ${label}`}
            placeholder={words.searchIn}
            value={find}
            onChange={(event) => setFind(event.target.value)}
            className="field h-7 w-36 text-xs"
          />
        )}
        {isTree && (
          <Button className="h-7" onClick={() => setAsText(!asText)}>
            {asText ? words.asTree : words.raw}
          </Button>
        )}
        <CopyButton text={text}>{words.copy}</CopyButton>
      </div>
      <div
        tabIndex={0}
        role="region"
        aria-label={label}
        className="max-h-[36rem] overflow-auto p-3 font-mono text-xs"
      >
        {asText ? (
          <pre className="whitespace-pre-wrap">{text}</pre>
        ) : (
          <Node value={value} path="" find={find.toLowerCase()} />
        )}
      </div>
    </div>
  );
}

function Node({ value, path, name, find }: { value: unknown; path: string; name?: string; find: string }) {
  const words = useUiWords();
  if (typeof value !== 'object' || value === null) return <Leaf {...{ value, path, find }} name={name} />;
  const entries = Object.entries(value);
  const isArray = Array.isArray(value);
  const [open, close] = isArray ? '[]' : '{}';
  if (entries.length === 0) return <Line name={name}>{`${open}${close}`}</Line>;
  return (
    <details open={path.split('.').length < 4 || find !== ''}>
      <summary className="hover:bg-hover">
        {name !== undefined && <span className="text-muted">{name}: </span>}
        {open}
        <span className="text-muted">
          {' '}
          {isArray ? words.items(entries.length) : words.fields(entries.length)}{' '}
        </span>
        {close}
      </summary>
      <div className="ml-1.5 border-l border-line pl-3">
        {entries.slice(0, MAX_ENTRIES).map(([key, one]) => (
          <Node key={key} value={one} name={key} path={path === '' ? key : `${path}.${key}`} find={find} />
        ))}
        {entries.length > MAX_ENTRIES && (
          <p className="text-muted">{words.more(entries.length - MAX_ENTRIES)}</p>
        )}
      </div>
    </details>
  );
}

function Leaf({
  value,
  path,
  name,
  find,
}: {
  value: unknown;
  path: string;
  name: string | undefined;
  find: string;
}) {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  const isFound = find !== '' && `${name ?? ''} ${text}`.toLowerCase().includes(find);
  const tone = typeof value === 'string' ? 'text-string' : 'text-ink';
  return (
    <Line name={name} marked={isFound}>
      <span className={`break-all ${tone}`}>{text}</span>
      {path !== '' && (
        <span className="opacity-0 group-focus-within:opacity-100 group-hover:opacity-100">
          <CopyIcon text={path} what={`path ${path}`} />
        </span>
      )}
    </Line>
  );
}

function Line({
  name,
  marked = false,
  children,
}: {
  name: string | undefined;
  marked?: boolean;
  children: React.ReactNode;
}) {
  return (
    <div className={`group min-h-5 ${marked ? 'bg-chosen' : 'hover:bg-hover'}`}>
      {name !== undefined && <span className="text-muted">{name}: </span>}
      {children}
    </div>
  );
}

export function size(text: string): string {
  const bytes = new TextEncoder().encode(text).length;
  return bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(bytes < 100_000 ? 1 : 0)} kB`;
}
