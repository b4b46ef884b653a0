import type { ListFailuresResult } from 'posthorn-client';
import { useState } from 'react';
import { BulkDialog } from '../../dashboard/bulk-dialog.tsx';
import { May } from '../../dashboard/may.tsx';
import { plural } from '../../data/delivery-state.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';
import { FailureTable, type Group } from './failure-table.tsx';
import { MuteButton } from './mute-button.tsx';
import { MuteDialog } from './mute-dialog.tsx';

interface Props {
  found: ListFailuresResult;
  time: string;
  range: TimeRange;
}

/** The groups, and below them those that are muted. */
export function Groups({ found: { groups, complete }, time, range }: Props) {
  const [retrying, setRetrying] = useState<Group>();
  const [muting, setMuting] = useState<Group>();
  const shown = groups.filter(({ muted }) => muted === null);
  const hidden = groups.filter(({ muted }) => muted !== null);
  const acts = (group: Group) => {
    const name = `${group.endpoint_name}, ${group.outcome}`;
    return (
      <span className="flex justify-end gap-2">
        <May use="muteFailures">
          <MuteButton group={group} name={name} onMute={() => setMuting(group)} />
        </May>
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
        {complete
          ? ''
          : '. Not everything was counted: a + marks numbers that are higher. Narrow the filters.'}
      </p>
      {hidden.length > 0 && (
        <Section title={`Muted: ${plural(hidden.length, 'group')}`}>
          <FailureTable groups={hidden} time={time} acts={acts} areMuted />
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
