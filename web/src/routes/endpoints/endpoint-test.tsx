import type { Endpoint } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import { AttemptView } from '../../parts/attempt-view.tsx';
import { useAct } from '../../parts/use-act.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';

export function EndpointTest({ endpoint }: { endpoint: Endpoint }) {
  const { api } = useProject();
  const test = useAct(() => api.endpoints.test(endpoint.uid));
  return (
    <Section
      title="Test"
      aside={
        <Button icon="arrow" onClick={() => test.mutate()} busy={test.isPending && 'Waiting for the answer'}>
          Send test
        </Button>
      }
    >
      {test.data === undefined ? (
        <p className="text-muted">
          A test sends a signed sample event and shows the answer here. It is tried once.
        </p>
      ) : (
        <div className="border-t border-line">
          <AttemptView key={test.data.uid} attempt={test.data} body="" open />
        </div>
      )}
    </Section>
  );
}
