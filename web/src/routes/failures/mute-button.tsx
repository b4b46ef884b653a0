import { useProject } from '../../data/project.ts';
import { useAct } from '../../parts/use-act.ts';
import { Button } from '../../ui/controls/button.tsx';
import type { Group } from './failure-table.tsx';

/** Mutes a group, after a question, or unmutes it at once. */
export function MuteButton({ group, name, onMute }: { group: Group; name: string; onMute(): void }) {
  const { api } = useProject();
  const { endpoint_id, endpoint_name, outcome, muted } = group;
  const unmute = useAct(
    async ({ uid, until }: NonNullable<Group['muted']>) => {
      await api.eventDeliveries.unmuteFailures(uid);
      return until;
    },
    () => `${endpoint_name}: no longer muted`,
    (until) => api.eventDeliveries.muteFailures({ endpoint_id, outcome, until }),
  );
  return muted === null ? (
    <Button look="quiet" className="h-7" aria-label={`Mute ${name}`} onClick={onMute}>
      Mute…
    </Button>
  ) : (
    <Button
      look="quiet"
      className="h-7"
      aria-label={`Unmute ${name}`}
      busy={unmute.isPending && 'Asking'}
      onClick={() => unmute.mutate(muted)}
    >
      Unmute
    </Button>
  );
}
