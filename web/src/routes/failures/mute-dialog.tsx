import { errorText, fieldProblems } from '../../data/explain-error.ts';
import { useProject } from '../../data/project.ts';
import { useAct } from '../../parts/acts.tsx';
import { FormDialog } from '../../ui/controls/dialog.tsx';
import { SelectField } from '../../ui/controls/fields.tsx';
import type { Group } from './failure-table.tsx';

const HOUR_MS = 3_600_000;

/** Mutes a group for everybody. It always has an end, so that nothing is forgotten. */
export function MuteDialog({ group, onClose }: { group: Group; onClose(): void }) {
  const { api } = useProject();
  const { endpoint_id, outcome, endpoint_name: name, description } = group;
  const mute = useAct(
    (hours: number) => {
      const until = new Date(Date.now() + hours * HOUR_MS).toISOString();
      return api.eventDeliveries.muteFailures({ endpoint_id, outcome, until });
    },
    () => `${name}: muted for everybody`,
    ({ uid }) => api.eventDeliveries.unmuteFailures(uid),
  );
  return (
    <FormDialog
      title={`Mute ${name}, ${outcome}`}
      action="Mute group"
      onClose={onClose}
      onSubmit={(form) => mute.mutateAsync(Number(form.get('until')))}
      explain={errorText}
      problems={fieldProblems}
    >
      {description !== '' && <p className="text-muted">{description}</p>}
      <p>
        The group moves below the others, for everybody in the project. Its deliveries are retried as before,
        and alerts are sent.
      </p>
      <SelectField
        label="Muted for"
        name="until"
        defaultValue="24"
        choices={[
          ['1', '1 hour'],
          ['8', '8 hours'],
          ['24', '1 day'],
          ['168', '7 days'],
          ['720', '30 days'],
        ]}
      />
    </FormDialog>
  );
}
