import type { ListFailuresResult } from 'posthorn-client';
import { useState } from 'react';
import { BulkDialog } from '../../dashboard/bulk-dialog.tsx';
import { plural } from '../../data/delivery-state.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { Section } from '../../ui/page/section.tsx';
import { FailureTable, type Group, groupKey } from './failure-table.tsx';
import { GroupActs, GroupTick } from './group-acts.tsx';
import { MuteDialog } from './mute-dialog.tsx';
import { ChosenGroups, sendable } from './send-groups.tsx';

interface Props {
  found: ListFailuresResult;
  time: string;
  range: TimeRange;
  /** The type that the page is limited to. */
  eventType: string | undefined;
}

/** The groups, and below them those that are muted. */
export function Groups({ found: { groups, complete }, time, range, eventType }: Props) {
  const [retrying, setRetrying] = useState<Group>();
  const [muting, setMuting] = useState<Group>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const shown = groups.filter(({ muted }) => muted === null);
  const hidden = groups.filter(({ muted }) => muted !== null);
  const cells = {
    time,
    tick: (group: Group) => <GroupTick group={group} chosen={chosen} onChange={setChosen} />,
    acts: (group: Group) => (
      <GroupActs group={group} eventType={eventType} onMute={setMuting} onRetry={setRetrying} />
    ),
  };
  return (
    <>
      <ChosenGroups
        groups={groups.filter((group) => chosen.has(groupKey(group)) && sendable(group) > 0)}
        eventType={eventType}
        onClear={() => setChosen(new Set())}
      />
      {shown.length === 0 ? (
        <p className="text-muted">Everything that fails is muted.</p>
      ) : (
        <FailureTable groups={shown} {...cells} />
      )}
      <p className="py-1 text-xs text-muted">
        {plural(shown.length, 'group')}
        {complete
          ? ''
          : '. Not everything was counted: a + marks numbers that are higher. Narrow the filters.'}
      </p>
      {hidden.length > 0 && (
        <Section title={`Muted: ${plural(hidden.length, 'group')}`}>
          <FailureTable groups={hidden} {...cells} areMuted />
        </Section>
      )}
      {muting !== undefined && <MuteDialog group={muting} onClose={() => setMuting(undefined)} />}
      {retrying !== undefined && (
        <BulkDialog
          kind="retry"
          filters={{
            ...range,
            endpointId: [retrying.endpoint_id],
            outcome: [retrying.outcome],
            status: ['Failure'],
          }}
          chosenBy={`${(retrying.description || retrying.outcome).replace(/\.$/, '')}.`}
          onClose={() => setRetrying(undefined)}
        />
      )}
    </>
  );
}
