import type { Endpoint, EventDelivery, Job } from 'posthorn-client';
import { type DeliveryState, deliveryState, holdOf } from '../data/delivery-state.ts';
import { StateBadge, type StateLook } from '../ui/text/state-badge.tsx';

export const DELIVERY_LOOKS: Readonly<Record<DeliveryState, StateLook>> = {
  delivered: { tone: 'ok', shape: 'check', word: 'Delivered' },
  failed: { tone: 'bad', shape: 'cross', word: 'Failed' },
  retrying: { tone: 'retry', shape: 'again', word: 'Waiting to retry' },
  'in flight': { tone: 'run', shape: 'arrow', word: 'In flight' },
  scheduled: { tone: 'run', shape: 'clock', word: 'Scheduled' },
  held: { tone: 'held', shape: 'pause', word: 'Held' },
  discarded: { tone: 'off', shape: 'slash', word: 'Discarded' },
  cancelled: { tone: 'off', shape: 'slash', word: 'Cancelled' },
};

export function DeliveryBadge({
  delivery,
}: {
  delivery: Pick<EventDelivery, 'status' | 'waiting_for' | 'cancelled_at' | 'description'>;
}) {
  const held = holdOf(delivery);
  const title = held === undefined ? delivery.description : `Held: ${held}`;
  return (
    <StateBadge look={DELIVERY_LOOKS[deliveryState(delivery)]} title={title === '' ? undefined : title} />
  );
}

type Health = Pick<Endpoint, 'status' | 'cb_state'>;

function endpointLook({ status, cb_state }: Health): StateLook {
  if (status === 'paused') return { tone: 'held', shape: 'pause', word: 'Paused' };
  if (status === 'inactive') return { tone: 'off', shape: 'slash', word: 'Disabled' };
  if (cb_state === 'open') return { tone: 'bad', shape: 'cross', word: 'Breaker open' };
  if (cb_state === 'half-open' || cb_state === 'half_open')
    return { tone: 'retry', shape: 'again', word: 'Trying again' };
  return { tone: 'ok', shape: 'check', word: 'Active' };
}

export const EndpointBadge = ({ endpoint }: { endpoint: Health }) => (
  <StateBadge look={endpointLook(endpoint)} />
);

export function OnOffBadge({ on, off = 'Inactive' }: { on: boolean; off?: string }) {
  const look: StateLook = on
    ? { tone: 'ok', shape: 'check', word: 'Active' }
    : { tone: 'off', shape: 'slash', word: off };
  return <StateBadge look={look} />;
}

const JOB_LOOKS: Readonly<Record<Job['status'], StateLook>> = {
  queued: { tone: 'run', shape: 'clock', word: 'Queued' },
  running: { tone: 'run', shape: 'arrow', word: 'Running' },
  completed: { tone: 'ok', shape: 'check', word: 'Completed' },
  cancelled: { tone: 'off', shape: 'slash', word: 'Stopped' },
  dry_run: { tone: 'off', shape: 'clock', word: 'Dry run' },
  failed: { tone: 'bad', shape: 'cross', word: 'Failed' },
};

export const JobBadge = ({ job }: { job: Pick<Job, 'status'> }) => (
  <StateBadge look={JOB_LOOKS[job.status]} />
);
