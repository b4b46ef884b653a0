import type { DeliveryAttempt } from 'posthorn-client';
import { attemptResult, curlOf, timingParts, totalMs } from '../data/attempt.ts';
import { formatMs, TimingBar } from '../ui/charts/timing-bar.tsx';
import { CodeBlock } from '../ui/code/code-block.tsx';
import { CopyButton } from '../ui/text/copy.tsx';
import { StateBadge } from '../ui/text/state-badge.tsx';
import { Time } from '../ui/text/time.tsx';

interface Props {
  attempt: DeliveryAttempt;
  /** Its number, from 1; undefined for a test. */
  number?: number;
  body: string;
  open: boolean;
}

/** One attempt: the request, the answer and the time that each part took. */
export function AttemptView({ attempt, number, body, open }: Props) {
  const look = attempt.status
    ? ({ tone: 'ok', shape: 'check', word: attemptResult(attempt) } as const)
    : ({ tone: 'bad', shape: 'cross', word: attemptResult(attempt) } as const);
  return (
    <details open={open} className="border-b border-line">
      <summary className="flex min-h-8 flex-wrap items-center gap-x-4 py-1 hover:bg-hover">
        {number !== undefined && <span className="w-16 font-semibold">Try {number}</span>}
        <StateBadge look={look} />
        <span className="grow text-muted">{attempt.is_stale && 'late answer of a lost node'}</span>
        <span className="font-mono text-xs">{formatMs(totalMs(attempt))}</span>
        <span className="text-xs text-muted">
          <Time at={attempt.requested_at ?? attempt.created_at} />
        </span>
      </summary>
      <div className="@container grid gap-3 py-2 sm:pl-4">
        {attempt.error !== '' && attempt.http_status !== '' && <p>{attempt.error}</p>}
        <TimingBar parts={timingParts(attempt)} />
        {attempt.url === '' ? (
          <>
            <p>A consumer fetched it and reported the result.</p>
            <Half title="Headers that it got" text={lines(attempt.request_http_header)} />
          </>
        ) : (
          <Exchange attempt={attempt} body={body} />
        )}
      </div>
    </details>
  );
}

/** The request and its answer. */
function Exchange({ attempt, body }: Pick<Props, 'attempt' | 'body'>) {
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <span className="min-w-0 grow break-all">
          <span className="font-semibold">{attempt.method || 'POST'}</span> {attempt.url}
          {attempt.ip_address !== '' && <span className="text-muted"> at {attempt.ip_address}</span>}
        </span>
        <CopyButton text={() => curlOf({ ...attempt, headers: attempt.request_http_header }, body)}>
          Copy as curl
        </CopyButton>
      </div>
      <div className="grid gap-3 @xl:grid-cols-2">
        <Half title="Request headers" text={lines(attempt.request_http_header)} />
        <Half title="Answer headers" text={lines(attempt.response_http_header)} />
      </div>
      <Half title="Answer body" text={attempt.response_data} />
    </>
  );
}

function Half({ title, text }: { title: string; text: string }) {
  return (
    <div className="min-w-0">
      <h3 className="mb-1 text-xs text-muted">{title}</h3>
      {text === '' ? <p className="text-muted">None</p> : <CodeBlock label={title} text={text} />}
    </div>
  );
}

const lines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
