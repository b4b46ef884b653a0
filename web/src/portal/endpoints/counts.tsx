import type { Messages } from '../../parts/languages/en.ts';
import { useWords } from '../../parts/words.ts';
import { type Health, isTrouble } from './health.ts';

const GATES = [
  'delayed',
  'retry',
  'circuit_breaker',
  'pending',
  'paused',
  'rate_limit',
  'order',
  'pull',
  'sending',
] as const;

/** The deliveries that ended in the last 24 hours, and those that wait now, by what they wait for. */
function countsIn({ endpoints: t }: Messages, health: Health): { ended: string; waiting: string } {
  const { delivered, failed, discarded } = health;
  const { node = 0, sending = 0, ...rest } = health.waiting_for;
  const open = { ...rest, sending: node + sending };
  const waiting = GATES.flatMap((gate) => {
    const count = open[gate] ?? 0;
    return count > 0 ? [t.waiting[gate](count)] : [];
  });
  // None has failed for good while all of them wait: "0 failed" would stand next to the failure.
  const isFailing = failed === 0 && isTrouble(health);
  const ended = [
    t.delivered(delivered),
    ...(isFailing ? [] : [t.failedCount(failed)]),
    ...(discarded > 0 ? [t.discarded(discarded)] : []),
  ];
  const isQuiet = delivered + failed + discarded + waiting.length === 0;
  return { ended: isQuiet ? t.quiet : ended.join(', '), waiting: waiting.join(', ') };
}

/** For a list whose head names the time. */
export function CountLines({ health }: { health: Health }) {
  const words = useWords();
  const { ended, waiting } = countsIn(words, health);
  return (
    <span className="min-w-0">
      <span className="text-muted sm:sr-only">{words.endpoints.dayIs} </span>
      {ended}
      {waiting !== '' && <span className="block">{waiting}</span>}
    </span>
  );
}

/** In one line, if there is room. Those that wait come first. */
export function Counts({ health, isComplete }: { health: Health; isComplete: boolean }) {
  const words = useWords();
  const { endpoints: t } = words;
  const { ended, waiting } = countsIn(words, health);
  return (
    <p className="flex flex-wrap gap-x-4 gap-y-1">
      {waiting !== '' && <span className="font-semibold">{waiting}</span>}
      <span className="text-muted">
        {t.dayIs} {ended}
      </span>
      {!isComplete && <span className="text-muted">{t.uncounted}</span>}
    </p>
  );
}
