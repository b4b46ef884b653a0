import { createContext, useContext } from 'react';

/** The words that the parts themselves say. The portal brings those of its language. */
export interface UiWords {
  /** For dates and numbers. */
  locale: string;
  close: string;
  cancel: string;
  working: string;
  dismiss: string;
  undo: string;
  undone: string;
  /** It cannot be undone any more. */
  changedSince: string;
  copy: string;
  copied: string;
  copyWhat(what: string): string;
  tryAgain: string;
  requestId: string;
  searchIn: string;
  raw: string;
  asTree: string;
  items(count: number): string;
  fields(count: number): string;
  more(count: number): string;
  acts: string;
  filters: string;
  clear(what: string): string;
  none: string;
  /** A time in words, such as "3 min ago". */
  relative(at: number, from: number): string;
}

const UNITS: [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** "3 min", "2 h": the largest unit that fits. A time that is left is rounded: of a day that has just begun 24 h are left. */
export function span(seconds: number, round: (value: number) => number = Math.floor): string {
  const [size, unit] = UNITS.find(([length]) => seconds >= length) ?? [1, 's'];
  return `${round(seconds / size)} ${unit}`;
}

/** "1 min 40 s", "2 h": the two largest units. */
export function length(seconds: number): string {
  const parts = UNITS.map(([size, unit], index) => {
    const rest = index === 0 ? seconds : seconds % (UNITS[index - 1]?.[0] ?? 1);
    return [Math.floor(rest / size), unit] as const;
  });
  const first = parts.findIndex(([count]) => count > 0);
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return first === -1 ? '0 s' : shown.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

export function relative(at: number, from: number): string {
  const seconds = (from - at) / 1000;
  if (Math.abs(seconds) < 2) return 'now';
  return seconds > 0 ? `${span(seconds)} ago` : `in ${span(-seconds, Math.round)}`;
}

export const ENGLISH: UiWords = {
  locale: 'en-GB',
  close: 'Close',
  cancel: 'Cancel',
  working: 'Working',
  dismiss: 'Dismiss',
  undo: 'Undo',
  undone: 'Undone',
  changedSince: 'Not undone: it has been changed since.',
  copy: 'Copy',
  copied: 'Copied',
  copyWhat: (what) => `Copy ${what}`,
  tryAgain: 'Try again',
  requestId: 'Request ID',
  searchIn: 'Find',
  raw: 'Raw',
  asTree: 'As tree',
  items: (count) => `${count} item${count === 1 ? '' : 's'}`,
  fields: (count) => `${count} field${count === 1 ? '' : 's'}`,
  more: (count) => `${count} more: see Raw`,
  acts: 'Actions',
  filters: 'Filters',
  clear: (what) => `Clear ${what}`,
  none: 'None',
  relative,
};

export const WordsContext = createContext<UiWords>(ENGLISH);
export const useUiWords = (): UiWords => useContext(WordsContext);
