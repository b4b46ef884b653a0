import { SelectionBar } from '../../dashboard/lists/selection-bar.tsx';
import { SendNow } from '../../dashboard/send-now.tsx';
import { plural } from '../../data/delivery-state.ts';
import type { Group } from './failure-table.tsx';

/** How many deliveries of a group can be sent now. */
export const sendable = ({ may_send_now: may, retrying }: Group): number => (may ? retrying : 0);

interface Asked {
  /** Groups that can be sent now. */
  groups: readonly Group[];
  /** The type that the page is limited to. */
  eventType: string | undefined;
}

/** A call for each endpoint: one call for several would also take the causes of one at the others. */
function filtersOf({ groups, eventType }: Asked) {
  return [...Map.groupBy(groups, ({ endpoint_id }) => endpoint_id)].map(([endpoint, own]) => ({
    endpointId: [endpoint],
    outcome: own.map(({ outcome }) => outcome),
    status: ['Retry' as const],
    ...(eventType === undefined ? {} : { eventType }),
  }));
}

const askedFor = ({ groups, eventType }: Asked) => ({
  of: filtersOf({ groups, eventType }),
  count: groups.reduce((sum, group) => sum + sendable(group), 0),
  isLeast: groups.some(({ at_least }) => at_least),
});

/** Sends what waits of one group. */
export function SendGroup({
  group,
  eventType,
  name,
}: { group: Group; name: string } & Omit<Asked, 'groups'>) {
  const asked = askedFor({ groups: [group], eventType });
  const label = `Send ${asked.count.toLocaleString('en')}${asked.isLeast ? '+' : ''} now`;
  return (
    <SendNow {...asked} className="h-7" name={`${label}: ${name}`}>
      {label}
    </SendNow>
  );
}

/** Sends what waits of the groups that are ticked. */
export function ChosenGroups({ groups, eventType, onClear }: Asked & { onClear(): void }) {
  if (groups.length === 0) return null;
  return (
    <SelectionBar label="Chosen groups" text={`${plural(groups.length, 'group')} chosen`} onClear={onClear}>
      <SendNow {...askedFor({ groups, eventType })} />
    </SelectionBar>
  );
}
