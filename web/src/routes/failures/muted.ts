import { useState } from 'react';

/** The groups of a project that the reader muted, kept in this browser. */
export function useMuted(
  project: string,
): readonly [ReadonlySet<string>, (group: string, isMuted: boolean) => void] {
  const place = `posthorn.muted.${project}`;
  const [muted, setMuted] = useState(() => new Set(localStorage.getItem(place)?.split('\n') ?? []));
  const change = (group: string, isMuted: boolean) => {
    const next = new Set(muted);
    if (isMuted) next.add(group);
    else next.delete(group);
    localStorage.setItem(place, [...next].join('\n'));
    setMuted(next);
  };
  return [muted, change];
}
