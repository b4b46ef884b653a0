/** Rows that the reader ticked, by key. */
export interface Selection {
  chosen: ReadonlySet<string>;
  choose(keys: readonly string[], isChosen: boolean): void;
}

const BOX = 'block size-4 accent-accent';

/** The box of a row. It lies above the link that covers the row. */
export function Tick({ label, rowKey, selection }: { label: string; rowKey: string; selection: Selection }) {
  return (
    <div role="cell" className="relative z-10">
      <input
        type="checkbox"
        aria-label={`Choose ${label}`}
        checked={selection.chosen.has(rowKey)}
        onChange={(event) => selection.choose([rowKey], event.target.checked)}
        className={BOX}
      />
    </div>
  );
}

interface TickAllProps {
  count: number;
  /** The keys of all rows. There may be 100,000 of them, so they are read only when they are needed. */
  keys(): readonly string[];
  selection: Selection;
}

/** The box of all rows that are loaded. */
export function TickAll({ count, keys, selection }: TickAllProps) {
  return (
    <div role="columnheader">
      <input
        type="checkbox"
        aria-label="Choose all rows that are loaded"
        checked={selection.chosen.size >= count}
        onChange={(event) => selection.choose(keys(), event.target.checked)}
        className={BOX}
      />
    </div>
  );
}
