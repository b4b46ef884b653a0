import { useState } from 'react';

/** The groups of a project that the reader muted, kept in this browser. */
export function useMuted(
  project: string,
): readonly [ReadonlySet<string>, (group: string, isMuted: boolean) => void] {
  const place = `posthorn.muted.${project}`;
  const stored = () => new Set(localStorage.getItem(place)?.split('\n') ?? []);
  const [muted, setMuted] = useState(stored);
  const change = (group: string, isMuted: boolean) => {
    // An undo comes later than other changes.
    const next = stored();
    if (isMuted) next.add(group);
    else next.delete(group);
    localStorage.setItem(place, [...next].join('\n'));
    setMuted(next);
  };
  return [muted, change];
}
