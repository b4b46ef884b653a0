import { Children, type ReactNode, useRef, useState } from 'react';
import { Icon } from '../text/icon.tsx';
import { useUiWords } from '../text/words.ts';
import { Button } from './button.tsx';
import type { Choice } from './fields.tsx';

/** So many need no button that folds them. */
const FEW = 3;

interface BarProps {
  /** How many filters are set, said while they are folded. */
  set?: number;
  children: ReactNode;
}

/** On a narrow screen many filters are folded behind a button, so that the rows are in sight. */
export function FilterBar({ set = 0, children }: BarProps) {
  const words = useUiWords();
  const [open, setOpen] = useState(false);
  const isFolded = Children.count(children) > FEW;
  return (
    <div className="@container mb-2 shrink-0">
      {isFolded && (
        <Button aria-expanded={open} onClick={() => setOpen(!open)} className="h-8 @2xl:hidden">
          {words.filters}
          {set > 0 && ` (${set})`}
          <Icon name="down" className={`size-3.5 ${open ? 'rotate-180' : ''}`} />
        </Button>
      )}
      <search
        className={`${isFolded && !open ? 'hidden' : 'grid'} grid-cols-2 items-center gap-2 p-0.5 @max-2xl:*:w-full @md:grid-cols-3 @2xl:flex @2xl:flex-wrap`}
        aria-label={words.filters}
      >
        {children}
      </search>
    </div>
  );
}

interface FilterProps {
  label: string;
  value: string;
  onChange(value: string): void;
}

export function FilterSelect({
  label,
  value,
  onChange,
  choices,
}: FilterProps & { choices: readonly Choice[] }) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className={`field max-w-56 ${value === '' ? 'text-muted' : 'border-accent'}`}
    >
      {choices.map(([key, text]) => (
        <option key={key} value={key}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** A typed value. It applies on Enter and when the field is left. */
export function FilterText({ label, value, onChange, wide = false }: FilterProps & { wide?: boolean }) {
  const box = useRef<HTMLInputElement>(null);
  const words = useUiWords();
  const apply = () => {
    const typed = box.current?.value.trim() ?? '';
    if (typed !== value) onChange(typed);
  };
  return (
    <span className={`relative inline-flex min-w-0 ${wide ? 'w-72' : 'w-44'}`}>
      <input
        // A value that changes from outside, as on "back", shows up here.
        key={value}
        ref={box}
        aria-label={label}
        placeholder={label}
        defaultValue={value}
        onBlur={apply}
        onKeyDown={(event) => event.key === 'Enter' && apply()}
        className={`field w-full pr-7 ${value === '' ? '' : 'border-accent'}`}
      />
      {value !== '' && (
        <button
          type="button"
          aria-label={words.clear(label.toLowerCase())}
          onClick={() => onChange('')}
          className="absolute top-1 right-1 inline-flex size-6 items-center justify-center text-muted hover:text-ink"
        >
          <Icon name="cross" className="size-3.5" />
        </button>
      )}
    </span>
  );
}
