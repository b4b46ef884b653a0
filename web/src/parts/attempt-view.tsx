import type { DeliveryAttempt } from 'posthorn-client';
import { attemptResult, curlOf, isMasked, isMessage, timingParts, totalMs } from '../data/attempt.ts';
import { formatMs, TimingBar } from '../ui/charts/timing-bar.tsx';
import { CodeBlock } from '../ui/code/code-block.tsx';
import { CopyButton } from '../ui/text/copy.tsx';
import { StateBadge } from '../ui/text/state-badge.tsx';
import { Time } from '../ui/text/time.tsx';
import { brokerAdvice, failedStep } from './brokers/steps.ts';
import { useWords } from './words.ts';

interface Props {
  attempt: DeliveryAttempt;
  /** Its number, from 1; undefined for a test. */
  number?: number;
  /** Its result as a word, where it is known. */
  outcome?: string | undefined;
  body: string;
  open: boolean;
}

/** One attempt: the request, the answer and the time that each part took. */
export function AttemptView({ attempt, number, outcome = '', body, open }: Props) {
  const { deliveries: t } = useWords();
  const word = attemptResult(attempt, t);
  return (
    <details open={open} className="border-b border-line">
      <summary className="-mx-1 flex min-h-8 flex-wrap items-center gap-x-4 px-1 py-1 hover:bg-hover">
        {number !== undefined && <span className="min-w-16 font-semibold">{t.attempt(number)}</span>}
        <StateBadge
          look={attempt.status ? { tone: 'ok', shape: 'check', word } : { tone: 'bad', shape: 'cross', word }}
        />
        <span className="grow text-muted">{attempt.is_stale && t.late}</span>
        <span className="font-mono text-xs">{formatMs(totalMs(attempt))}</span>
        <span className="text-xs text-muted">
          <Time at={attempt.requested_at ?? attempt.created_at} />
        </span>
      </summary>
      <div className="@container grid gap-3 py-2">
        {attempt.error !== '' && attempt.http_status !== '' && <p>{attempt.error}</p>}
        {isMessage(attempt) && <FailedStep outcome={outcome} isTest={number === undefined} />}
        <TimingBar parts={timingParts(attempt)} names={t.timings} />
        {attempt.url === '' ? (
          <>
            <p>{t.fetched}</p>
            <Part title={t.fetchedHeaders} text={lines(attempt.request_http_header)} />
          </>
        ) : (
          <Exchange attempt={attempt} body={body} isMessage={isMessage(attempt)} />
        )}
        {isMasked(attempt) && <p className="text-xs text-muted">{t.masked}</p>}
      </div>
    </details>
  );
}

/** The step at which a message failed. No page around a test says what to do. */
function FailedStep({ outcome, isTest }: { outcome: string; isTest: boolean }) {
  const words = useWords();
  const step = failedStep(words, outcome);
  if (step === undefined) return null;
  return (
    <p className="max-w-[75ch]">
      <span className="text-muted">{words.brokers.step}:</span> <span className="font-semibold">{step}</span>
      {isTest && <span className="block">{brokerAdvice(words, outcome)}</span>}
    </p>
  );
}

/** The request and its answer, or the message and the receipt of the broker, such as its partition and offset. */
function Exchange({
  attempt,
  body,
  isMessage: isOfBroker,
}: Pick<Props, 'attempt' | 'body'> & { isMessage: boolean }) {
  const { deliveries: t } = useWords();
  const answer = lines(attempt.response_http_header);
  const hasAnswer = !isOfBroker || answer !== '';
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <span className="min-w-0 grow break-all">
          <span className="font-semibold">{attempt.method || 'POST'}</span> {attempt.url}
          {attempt.ip_address !== '' && <span className="text-muted"> ({attempt.ip_address})</span>}
        </span>
        {!isOfBroker && <CopyButton text={() => curlOf(attempt, body)}>{t.curl}</CopyButton>}
      </div>
      {!isOfBroker && <Part title={t.answerBody} text={attempt.response_data} />}
      <div className={`grid gap-3 ${hasAnswer ? '@xl:grid-cols-2' : ''}`}>
        <Part
          title={isOfBroker ? t.messageHeaders : t.requestHeaders}
          text={lines(attempt.request_http_header)}
        />
        {hasAnswer && <Part title={isOfBroker ? t.receipt : t.answerHeaders} text={answer} />}
      </div>
    </>
  );
}

function Part({ title, text }: { title: string; text: string }) {
  const { ui } = useWords();
  return (
    <div className="min-w-0">
      <h3 className="mb-1 text-xs text-muted">{title}</h3>
      {text === '' ? <p className="text-muted">{ui.none}</p> : <CodeBlock label={title} text={text} />}
    </div>
  );
}

const lines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
