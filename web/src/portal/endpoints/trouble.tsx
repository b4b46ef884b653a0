import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { hasExpired } from '../../data/endpoint-status.ts';
import { EndpointBadge } from '../../parts/badges.tsx';
import { addressOf } from '../../parts/brokers/broker-address.ts';
import type { Messages } from '../../parts/languages/en.ts';
import { useWords } from '../../parts/words.ts';
import { Time } from '../../ui/text/time.tsx';
import { at } from '../address.ts';
import { adviceText, outcomeText } from '../reason.ts';
import { Counts } from './counts.tsx';
import type { Health, Healths } from './health.ts';
import { configurationQuery } from './queries.ts';
import { TroubleActs } from './trouble-acts.tsx';

interface Props {
  endpoint: Endpoint;
  health: Health;
  all: Healths;
  /** It stands in a list, so it names its endpoint, and the advice is on the page of that. */
  isListed?: boolean;
}

/** An endpoint in trouble explains itself: what came back, since when, what waits, and the acts that mend it. */
export function Trouble({ endpoint, health, all, isListed = false }: Props) {
  const { endpoints: t } = useWords();
  const isCalm = health.state === 'held';
  const title = titleOf(t, health, endpoint.status === 'pending');
  const look = isCalm ? 'border-frame bg-panel' : 'border-bad bg-bad-ground';
  return (
    <section
      aria-label={isListed ? endpoint.name : title}
      className={`mt-3 grid gap-x-6 gap-y-3 rounded-md border border-l-4 px-4 py-3 sm:grid-cols-[minmax(0,1fr)_auto] sm:items-center ${look}`}
    >
      <div className="grid min-w-0 grid-cols-1 gap-1">
        {isListed ? (
          <Named {...{ endpoint, health }} />
        ) : (
          <h3 className={`text-base ${isCalm ? '' : 'text-bad'}`}>{title}</h3>
        )}
        <Cause {...{ endpoint, health }} isWhole={!isListed} />
        <Counts health={health} isComplete={all.isComplete} />
      </div>
      <TroubleActs {...{ endpoint, health, all, isListed }} />
    </section>
  );
}

function Named({ endpoint, health }: Pick<Props, 'endpoint' | 'health'>) {
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3">
        <h3 className="min-w-0 text-base break-words">
          <a className="hover:underline" href={at(`endpoints/${endpoint.uid}`)}>
            {endpoint.name}
          </a>
        </h3>
        <EndpointBadge of={{ ...endpoint, ...health }} />
      </div>
      <p className="truncate text-muted">{addressOf(endpoint)}</p>
    </>
  );
}

const titleOf = (t: Messages['endpoints'], { state }: Health, isPending: boolean): string =>
  ({
    failing: t.failing,
    disabled: t.disabled,
    degraded: t.someFailed,
    held: isPending ? t.pending : t.paused,
    recovered: '',
    ok: '',
  })[state];

function Cause({ endpoint, health, isWhole }: Pick<Props, 'endpoint' | 'health'> & { isWhole: boolean }) {
  const words = useWords();
  const { endpoints: t } = words;
  const configuration = useQuery({ ...configurationQuery, enabled: isWhole });
  const { state, last_failure: failure, failing_since: since } = health;
  const isOfBroker = endpoint.delivery === 'broker';
  const willStop = state === 'failing' && configuration.data?.['disables_failing'] === true;
  const more = [
    state === 'disabled' ? (hasExpired(endpoint) ? t.expiredText : t.disabledText) : '',
    state === 'held' ? (endpoint.status === 'pending' ? t.pendingText : t.pausedText) : '',
    isWhole && failure !== null && state !== 'held' ? adviceText(words, failure.outcome, isOfBroker) : '',
    isWhole && willStop ? t.willStop : '',
  ].filter((part) => part !== '');
  return (
    <div className="max-w-[75ch]">
      <p className="flex flex-wrap gap-x-4">
        {failure !== null && state !== 'held' && (
          <span>
            {outcomeText(words, failure.outcome, isOfBroker)}, <Time at={failure.at} />
          </span>
        )}
        {since !== null && (
          <span className="text-muted">
            {t.began} <Time at={since} />
          </span>
        )}
      </p>
      <p>{more.join(' ')}</p>
    </div>
  );
}
