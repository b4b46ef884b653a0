import type { Subscription, UpdateSubscription } from 'posthorn-client';
import { useState } from 'react';
import { useSettings } from '../data/choices.ts';
import { plural } from '../data/delivery-state.ts';
import { attemptTimes, type RetryPolicy, typedSchedule } from '../data/retry-times.ts';
import { SelectField, TextField } from '../ui/controls/fields.tsx';
import { formText } from '../ui/controls/form-text.ts';
import { length } from '../ui/text/time.tsx';

/** The policy of subscriptions that have none of their own. */
export function useProjectRetries(): RetryPolicy | undefined {
  const strategy = useSettings().data?.config.strategy;
  // The project counts the first attempt too.
  return strategy && { ...strategy, retry_count: strategy.retry_count - 1 };
}

const MOST_DOTS = 8;

/** The attempts of a policy as dots on a line, each with the time since the first. */
export function RetrySchedule({ policy }: { policy: RetryPolicy }) {
  const times = attemptTimes(policy);
  const last = times.at(-1) ?? 0;
  const left = times.length - MOST_DOTS;
  const dots = left > 0 ? [...times.slice(0, MOST_DOTS - 1), last] : times;
  return (
    <div className="grid grid-cols-1 gap-1">
      <ol
        aria-label="Attempts"
        className="grid max-w-3xl grid-cols-[repeat(auto-fill,minmax(4.5rem,1fr))] gap-y-2"
      >
        {dots.map((at, index) => (
          <li
            key={index}
            className="relative grid gap-1 border-t border-edge pt-1.5 last:border-transparent text-xs text-muted"
          >
            <span className="absolute -top-1 left-0 size-2 rounded-full bg-retry" aria-hidden="true" />
            {at === 0 ? 'at once' : `${left > 0 && index === dots.length - 1 ? '… ' : ''}${length(at)}`}
          </li>
        ))}
      </ol>
      <p className="text-xs text-muted">
        {plural(times.length, 'attempt', 'attempts')}
        {last > 0 && ` in ${length(last)}`}.{' Each wait is up to 20 % longer, by chance.'}
        {policy.type === 'exponential' &&
          !policy.schedule?.length &&
          ' No wait is longer than 2 h, unless the instance sets another limit.'}
      </p>
    </div>
  );
}

const NAME = 'retry_config';
type Own = Subscription['retry_config'];
type Choice = RetryPolicy['type'] | 'list' | '';
const USUAL_LIST = ['5s', '5m', '30m', '2h', '5h', '10h'];

/** The retries of a subscription, drawn while they are typed. */
export function RetryFields({ own }: { own: Own }) {
  const ofProject = useProjectRetries();
  const usual = own ?? ofProject ?? { type: 'linear', duration: 100, retry_count: 9 };
  const [type, setType] = useState<Choice>(own?.schedule ? 'list' : (own?.type ?? ''));
  const [list, setList] = useState((own?.schedule ?? USUAL_LIST).join(', '));
  const [retries, setRetries] = useState<number>();
  const [wait, setWait] = useState<number>();
  const [retry_count, duration] = [retries ?? usual.retry_count, wait ?? usual.duration];
  const policy = chosenPolicy(type, { ofProject, list, retry_count, duration });
  const number = { type: 'number', required: true } as const;
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="grid gap-4 sm:grid-cols-3">
        <SelectField
          label="Retries"
          name={`${NAME}.type`}
          value={type}
          onChange={(event) => setType(event.target.value as typeof type)}
          choices={[
            ['', 'As the project'],
            ['linear', 'Same wait'],
            ['exponential', 'Doubling wait'],
            ['list', 'List of waits'],
          ]}
        />
        {type === 'list' && (
          <TextField
            label="Waits"
            name={`${NAME}.schedule`}
            required
            value={list}
            onChange={(event) => setList(event.target.value)}
            hint="Such as 5s, 5m, 2h."
          />
        )}
        {(type === 'linear' || type === 'exponential') && (
          <>
            <TextField
              label="How many"
              name={`${NAME}.retry_count`}
              {...number}
              min="0"
              max="1000"
              value={retry_count}
              onChange={(event) => setRetries(event.target.valueAsNumber || 0)}
            />
            <TextField
              label={type === 'linear' ? 'Interval (s)' : 'First interval (s)'}
              name={`${NAME}.interval_seconds`}
              {...number}
              min="1"
              value={duration}
              onChange={(event) => setWait(event.target.valueAsNumber || 0)}
            />
          </>
        )}
      </div>
      {policy !== undefined && <RetrySchedule policy={policy} />}
    </div>
  );
}

function chosenPolicy(
  type: Choice,
  typed: { ofProject: RetryPolicy | undefined; list: string; retry_count: number; duration: number },
): RetryPolicy | undefined {
  const { ofProject, list, ...numbers } = typed;
  if (type === '') return ofProject;
  if (type !== 'list') return { type, ...numbers };
  return { type: 'exponential', duration: 0, retry_count: 0, schedule: typedSchedule(list) };
}

/** The retries, from the fields of the form. None: those of the project. */
export function retriesOf(form: FormData): Required<Pick<UpdateSubscription, 'retry_config'>> {
  const text = (field: string) => formText(form, `${NAME}.${field}`);
  const type = text('type') as Choice;
  if (type === '') return { retry_config: {} };
  if (type === 'list') return { retry_config: { schedule: typedSchedule(text('schedule')) } };
  const [interval_seconds, retry_count] = [Number(text('interval_seconds')), Number(text('retry_count'))];
  return { retry_config: { type, interval_seconds, retry_count } };
}
