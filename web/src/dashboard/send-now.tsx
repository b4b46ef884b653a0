import type { Posthorn } from 'posthorn-client';
import type { ReactNode } from 'react';
import { plural } from '../data/delivery-state.ts';
import { useProject } from '../data/project.ts';
import { ActButton } from '../parts/acts.tsx';
import { useGo } from '../ui/text/link.tsx';
import { May } from './may.tsx';

type Filters = NonNullable<Parameters<Posthorn['eventDeliveries']['sendNow']>[0]>;

interface Props {
  /** The deliveries to send: a job for each. */
  of: readonly Filters[];
  /** How many of them wait for a retry or behind a circuit breaker, at endpoints that take them now. */
  count: number;
  /** More wait than were counted. */
  isLeast?: boolean;
  /** The page shows how they fare, so the reader stays on it. */
  stays?: boolean;
  /** The name for a screen reader, where the text of the button needs the row around it. */
  name?: string;
  className?: string;
  children?: ReactNode;
}

/** Sends waiting deliveries now. It is not there if none can be sent, or the reader may not. */
export function SendNow({ of, count, isLeast = false, stays = false, name, className, children }: Props) {
  const { api, at } = useProject();
  const go = useGo();
  const noun = count === 1 && !isLeast ? 'delivery' : 'deliveries';
  const what = isLeast ? `${count.toLocaleString('en')}+ ${noun}` : plural(count, noun, noun);
  const send = async () => {
    const jobs = [];
    for (const filters of of) jobs.push(await api.eventDeliveries.sendNow(filters));
    return jobs;
  };
  const follow = ([first, ...others]: Awaited<ReturnType<typeof send>>) => {
    if (!stays) go(at(first === undefined || others.length > 0 ? 'jobs' : `jobs/${first.uid}`));
    return `Sending ${what} now`;
  };
  if (count === 0) return null;
  return (
    <May use="sendNowEventDeliveries">
      <ActButton icon="arrow" aria-label={name} className={className} act={send} done={follow}>
        {children ?? `Send ${what} now`}
      </ActButton>
    </May>
  );
}
