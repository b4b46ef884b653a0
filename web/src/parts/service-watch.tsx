import type { ReactNode } from 'react';
import { useAwaySince } from '../data/service/service.ts';
import { OffContext } from '../ui/controls/off.ts';
import { clockTime, useNow } from '../ui/text/time.tsx';
import { useWords } from './words.ts';

/** Around everything: while the service is away a bar says so, acts are off, and what is shown looks old. */
export function ServiceWatch({ className, children }: { className?: string; children: ReactNode }) {
  const since = useAwaySince();
  const { away: t } = useWords();
  return (
    <OffContext value={since === undefined ? undefined : t.off}>
      <div className={className} data-away={since !== undefined || undefined}>
        {/* A live region is there before it speaks. */}
        <div role="status" className="sticky top-0 z-40 shrink-0">
          {since !== undefined && <Bar since={since} />}
        </div>
        {children}
      </div>
    </OffContext>
  );
}

function Bar({ since }: { since: number }) {
  const { away: t, ui } = useWords();
  const now = useNow();
  return (
    <p className="border-b border-bad bg-bad-ground px-4 py-2">
      <strong className="text-bad">{t.since(clockTime(since, ui.locale))}</strong>{' '}
      {/* The seconds would be read out each time. */}
      <span aria-hidden="true">({ui.relative(since, now)}).</span> {t.meanwhile}
    </p>
  );
}

/** The time of figures that are old. Undefined: the service answers. */
export function useOldSince(): string | undefined {
  const since = useAwaySince();
  const { away: t, ui } = useWords();
  return since === undefined ? undefined : t.asOf(clockTime(since, ui.locale));
}
