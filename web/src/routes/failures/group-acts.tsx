import { May } from '../../dashboard/may.tsx';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { ActButton } from '../../parts/acts.tsx';
import { RowButton } from '../../ui/controls/button.tsx';
import { type Group, groupKey } from './failure-table.tsx';
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
        {group.muted === null ? (
          <RowButton look="quiet" act="Mute" of={name} onClick={() => onMute(group)} />
        ) : (
          <Unmute group={group} muted={group.muted} name={name} />
        )}
      </May>
      {group.failed > 0 && (
        <May use="batchRetryEventDeliveries">
          <RowButton icon="again" act="Retry" of={name} onClick={() => onRetry(group)} />
        </May>
      )}
      <SendGroup group={group} eventType={eventType} name={name} />
    </span>
  );
}

interface UnmuteProps {
  group: Group;
  muted: NonNullable<Group['muted']>;
  name: string;
}

function Unmute({
  group: { endpoint_id, endpoint_name, outcome },
  muted: { uid, until },
  name,
}: UnmuteProps) {
  const { eventDeliveries } = useProject().api;
  return (
    <ActButton
      look="quiet"
      className="h-7"
      aria-label={`Unmute ${name}`}
      act={() => eventDeliveries.unmuteFailures(uid)}
      done={() => `${endpoint_name}: no longer muted`}
      undo={() => eventDeliveries.muteFailures({ endpoint_id, outcome, until })}
    >
      Unmute
    </ActButton>
  );
}
