import { useState } from 'react';
import { Button } from '../controls/button.tsx';
import { copyText } from './clipboard.ts';
import { Icon } from './icon.tsx';
import { useUiWords } from './words.ts';

function useCopy(text: string | (() => string)): { copied: boolean; copy(): Promise<void> } {
  const [copied, setCopied] = useState(false);
  return {
    copied,
    copy: async () => {
      setCopied(await copyText(typeof text === 'string' ? text : text()));
      setTimeout(() => setCopied(false), 1500);
    },
  };
}

export function CopyIcon({ text, what }: { text: string; what: string }) {
  const { copied, copy } = useCopy(text);
  const words = useUiWords();
  const label = words.copyWhat(what);
  return (
    <button
      type="button"
      onClick={() => void copy()}
      aria-label={copied ? words.copied : label}
      title={copied ? words.copied : label}
      className="inline-flex size-5 shrink-0 items-center justify-center rounded-sm align-middle text-muted hover:bg-hover hover:text-accent"
    >
      <Icon name={copied ? 'check' : 'copy'} className="size-3.5" />
    </button>
  );
}

export function CopyButton({ text, children }: { text: string | (() => string); children: string }) {
  const { copied, copy } = useCopy(text);
  const words = useUiWords();
  return (
    <Button onClick={() => void copy()} icon={copied ? 'check' : 'copy'}>
      {copied ? words.copied : children}
    </Button>
  );
}
