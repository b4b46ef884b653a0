import type { ListFailuresResult } from 'posthorn-client';
import { useState } from 'react';
import { plural } from '../../data/delivery-state.ts';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { BulkDialog } from '../../parts/bulk-dialog.tsx';
import { May } from '../../parts/may.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { useToast } from '../../ui/controls/toast.tsx';
import { Section } from '../../ui/page/section.tsx';
import { FailureTable, type Group, groupKey } from './failure-table.tsx';
import { useMuted } from './muted.ts';

interface Props {
  found: ListFailuresResult;
  time: string;
  range: TimeRange;
}

/** The groups, and below them those that the reader muted. */
export function Groups({ found: { groups, complete }, time, range }: Props) {
  const { id } = useProject();
  const [muted, change] = useMuted(id);
  const toast = useToast();
  const mute = (group: Group, isMuted: boolean) => {
    const key = groupKey(group);
    change(key, isMuted);
    toast(`${group.endpoint_name}: ${isMuted ? 'muted in this browser' : 'no longer muted'}`, {
      undo: () => change(key, !isMuted),
    });
  };
  const [retrying, setRetrying] = useState<Group>();
  const [shown, hidden] = [false, true].map((isMuted) =>
    groups.filter((group) => muted.has(groupKey(group)) === isMuted),
  ) as [Group[], Group[]];
  const acts = (group: Group) => {
    const isMuted = muted.has(groupKey(group));
    const name = `${group.endpoint_name}, ${group.outcome}`;
    return (
      <span className="flex justify-end gap-2">
        <Button
          look="quiet"
          className="h-7"
          aria-label={`${isMuted ? 'Unmute' : 'Mute'} ${name}`}
          onClick={() => mute(group, !isMuted)}
        >
          {isMuted ? 'Unmute' : 'Mute'}
        </Button>
        <May use="batchRetryEventDeliveries">
          <Button
            className="h-7"
            icon="again"
            disabled={group.failed === 0}
            aria-label={`Retry ${name}`}
            onClick={() => setRetrying(group)}
          >
            Retry…
          </Button>
        </May>
      </span>
    );
  };
  return (
    <>
      {shown.length === 0 ? (
        <p className="text-muted">Everything that fails is muted.</p>
      ) : (
        <FailureTable groups={shown} time={time} acts={acts} />
      )}
      <p className="py-1 text-xs text-muted">
        {plural(shown.length, 'group')}
        {complete ? '' : '. There are more: narrow the filters.'}
      </p>
      {hidden.length > 0 && (
        <Section title={`Muted in this browser: ${plural(hidden.length, 'group')}`}>
          <FailureTable groups={hidden} time={time} acts={acts} />
        </Section>
      )}
      {retrying !== undefined && (
        <BulkDialog
          kind="retry"
          filters={{
            ...range,
            endpointId: [retrying.endpoint_id],
            outcome: [retrying.outcome],
            status: ['Failure'],
          }}
          chosenBy={`${retrying.description || retrying.outcome} In this group there are`}
          onClose={() => setRetrying(undefined)}
        />
      )}
    </>
  );
}
