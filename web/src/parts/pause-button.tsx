import type { Endpoint } from 'posthorn-client';
import { Button } from '../ui/controls/button.tsx';
import { useSite } from './site.ts';
import { useAct } from './use-act.ts';
import { useWords } from './words.ts';

/** Pauses an endpoint, or lets it go on. One that is disabled is activated elsewhere. */
export function PauseButton({ endpoint }: { endpoint: Endpoint }) {
  const { endpoints: t, deliveries } = useWords();
  const { endpoints } = useSite().api;
  const isActive = endpoint.status === 'active';
  const pause = useAct(
    () => endpoints.pause(endpoint.uid),
    ({ status }) => (status === 'active' ? t.nowActive : t.nowPaused),
    async ({ status }) => {
      const now = await endpoints.get(endpoint.uid);
      return now.status === status && endpoints.pause(endpoint.uid);
    },
  );
  if (endpoint.status === 'inactive') return null;
  return (
    <Button
      look={isActive ? 'plain' : 'main'}
      icon={isActive ? 'pause' : 'play'}
      onClick={() => pause.mutate()}
      busy={pause.isPending && deliveries.asking}
    >
      {isActive ? t.pause : t.resume}
    </Button>
  );
}
