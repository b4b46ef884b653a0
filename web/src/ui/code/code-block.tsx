import { CopyIcon } from '../text/copy.tsx';

/** Text to copy: a command, a header, a body. It scrolls inside. */
export function CodeBlock({ text, label, tall = false }: { text: string; label: string; tall?: boolean }) {
  return (
    <div className="relative rounded-md border border-line bg-panel">
      <div className="absolute top-1 right-1 rounded-sm bg-panel">
        <CopyIcon text={text} what={label.toLowerCase()} />
      </div>
      <pre
        // A scrolling area must be reachable by keyboard.
        tabIndex={0}
        aria-label={label}
        role="region"
        className={`overflow-auto p-3 pr-9 font-mono text-xs whitespace-pre-wrap ${tall ? 'max-h-[32rem]' : 'max-h-60'}`}
      >
        {text}
      </pre>
    </div>
  );
}
