import type { Endpoint } from 'posthorn-client';
import type { ReactNode } from 'react';
import { useWords } from '../../parts/words.ts';
import { Icon } from '../../ui/text/icon.tsx';
import type { Healths } from './health.ts';
import { Trouble } from './trouble.tsx';

interface Props {
  endpoints: readonly Endpoint[];
  all: Healths;
  /** The number of endpoints in trouble. */
  count: number;
  /** The endpoints that are shown, the worst first. */
  troubled: readonly Endpoint[];
  /** An act of the page. */
  children: ReactNode;
}

/** The endpoints in trouble, each with its cause. One quiet line if there are none. */
export function HealthSummary({ endpoints, all, count, troubled, children }: Props) {
  const { summary: t } = useWords();
  return (
    <section className="mb-4">
      <div className="flex min-h-8 flex-wrap items-center justify-between gap-x-4 gap-y-2">
        {count === 0 ? (
          <Calm {...{ endpoints, all }} />
        ) : (
          <h2 className="text-lg">{t.trouble(count, endpoints.length)}</h2>
        )}
        {children}
      </div>
      {troubled.map((endpoint) => {
        const health = all.of.get(endpoint.uid);
        return health && <Trouble key={endpoint.uid} {...{ endpoint, health, all }} isListed />;
      })}
    </section>
  );
}

function Calm({ endpoints, all }: Pick<Props, 'endpoints' | 'all'>) {
  const { summary: t } = useWords();
  const paused = endpoints.filter(({ status }) => status === 'paused').length;
  const isQuiet = [...all.of.values()].every(({ delivered, failed }) => delivered + failed === 0);
  const isMoving = paused < endpoints.length;
  return (
    <p className="flex items-start gap-2 text-base">
      <Icon name={isMoving ? 'check' : 'pause'} className={`mt-1 ${isMoving ? 'text-ok' : 'text-held'}`} />
      {isMoving && isQuiet ? t.quiet : t.calm(endpoints.length - paused, paused)}
    </p>
  );
}
