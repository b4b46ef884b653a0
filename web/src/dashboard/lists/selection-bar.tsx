import type { ReactNode } from 'react';
import { Button } from '../../ui/controls/button.tsx';

interface Props {
  label: string;
  /** How many are chosen, in words. */
  text: string;
  onClear(): void;
  /** The acts on them. */
  children: ReactNode;
}

/** The acts on the rows that are ticked. */
export function SelectionBar({ label, text, onClear, children }: Props) {
  return (
    <section
      aria-label={label}
      className="mb-2 flex flex-wrap items-center gap-2 rounded-md bg-chosen px-3 py-1.5"
    >
      <span role="status" className="grow">
        {text}
      </span>
      <Button look="quiet" onClick={onClear}>
        Clear
      </Button>
      {children}
    </section>
  );
}
