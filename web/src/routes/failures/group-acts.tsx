import { May } from '../../dashboard/may.tsx';
import { useMay } from '../../data/may.ts';
import { Button } from '../../ui/controls/button.tsx';
import { type Group, groupKey } from './failure-table.tsx';
import { MuteButton } from './mute-button.tsx';
import { SendGroup, sendable } from './send-groups.tsx';

const nameOf = ({ endpoint_name, outcome }: Group): string => `${endpoint_name}, ${outcome}`;

interface TickProps {
  group: Group;
  /** By key. */
  chosen: ReadonlySet<string>;
  onChange(chosen: ReadonlySet<string>): void;
}

/** The box of a group that can be sent now. */
export function GroupTick({ group, chosen, onChange }: TickProps) {
  const maySend = useMay()('sendNowEventDeliveries');
  const key = groupKey(group);
  if (!maySend || sendable(group) === 0) return null;
  const others = [...chosen].filter((one) => one !== key);
  return (
    <input
      type="checkbox"
      aria-label={`Choose ${nameOf(group)}`}
      checked={chosen.has(key)}
      onChange={({ target }) => onChange(new Set(target.checked ? [...others, key] : others))}
      className="mr-2 size-4 align-middle accent-accent"
    />
  );
}

interface ActsProps {
  group: Group;
  eventType: string | undefined;
  onMute(group: Group): void;
  onRetry(group: Group): void;
}

/** Send what waits, mute, retry what failed. An act that has nothing to do is not there. */
export function GroupActs({ group, eventType, onMute, onRetry }: ActsProps) {
  const name = nameOf(group);
  return (
    <span className="flex flex-wrap justify-end gap-2 @lg:flex-nowrap">
      <May use="muteFailures">
        <MuteButton group={group} name={name} onMute={() => onMute(group)} />
      </May>
      {group.failed > 0 && (
        <May use="batchRetryEventDeliveries">
          <Button className="h-7" icon="again" aria-label={`Retry ${name}`} onClick={() => onRetry(group)}>
            Retry…
          </Button>
        </May>
      )}
      <SendGroup group={group} eventType={eventType} name={name} />
    </span>
  );
}
