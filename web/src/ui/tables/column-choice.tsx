import { useState } from 'react';
import { Button } from '../controls/button.tsx';
import { Dialog } from '../controls/dialog.tsx';
import { Check } from '../controls/fields.tsx';

const keyOf = (list: string): string => `posthorn.columns.${list}`;

/** The columns that the reader hid, kept in this browser. */
export function useHiddenColumns(
  list: string,
): readonly [ReadonlySet<string>, (name: string, isShown: boolean) => void] {
  const [hidden, setHidden] = useState(() => new Set(localStorage.getItem(keyOf(list))?.split('\n') ?? []));
  const change = (name: string, isShown: boolean) => {
    const next = new Set(hidden);
    if (isShown) next.delete(name);
    else next.add(name);
    localStorage.setItem(keyOf(list), [...next].join('\n'));
    setHidden(next);
  };
  return [hidden, change];
}

interface Props {
  /** The columns that may be hidden. */
  names: readonly string[];
  hidden: ReadonlySet<string>;
  onChange(name: string, isShown: boolean): void;
}

export function ColumnChoice({ names, hidden, onChange }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look="quiet" className="h-6 px-2 font-normal" onClick={() => setOpen(true)}>
        Columns…
      </Button>
      {open && (
        <Dialog title="Columns" onClose={() => setOpen(false)}>
          <div className="grid gap-3">
            {names.map((name) => (
              <Check
                key={name}
                label={name}
                checked={!hidden.has(name)}
                onChange={(event) => onChange(name, event.target.checked)}
              />
            ))}
            <p className="text-xs text-muted">
              Narrow screens leave out more columns. The choice is kept in this browser.
            </p>
          </div>
        </Dialog>
      )}
    </>
  );
}
