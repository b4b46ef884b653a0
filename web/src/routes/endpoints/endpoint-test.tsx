import type { Endpoint } from 'posthorn-client';
import { useState } from 'react';
import { useProject } from '../../data/project.ts';
import { AttemptView } from '../../parts/attempt-view.tsx';
import { useAct } from '../../parts/use-act.ts';
import { Button } from '../../ui/controls/button.tsx';
import { TextArea } from '../../ui/controls/fields.tsx';
import { Section } from '../../ui/page/section.tsx';

const SAMPLE = '{\n  "message": "This is a test of your endpoint."\n}';

/** Null if the text is JSON. */
function problemOf(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `This is no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** One signed request with a body of the reader's choice. The answer shows up here; nothing is stored or counted. */
export function EndpointTest({ endpoint }: { endpoint: Endpoint }) {
  const { api } = useProject();
  const [body, setBody] = useState(SAMPLE);
  const problem = problemOf(body);
  const test = useAct(async (text: string) => ({
    text,
    attempt: await api.endpoints.try({ endpoint_id: endpoint.uid, data: JSON.parse(text) as unknown }),
  }));
  const last = useAct(
    async () => {
      const { content } = await api.eventDeliveries.list({ endpointId: [endpoint.uid], perPage: 1 }).page();
      const [delivery] = content;
      if (delivery !== undefined) setBody(JSON.stringify(delivery.metadata.data, null, 2));
      return delivery;
    },
    (delivery) => (delivery === undefined ? 'Nothing has been sent to it yet' : undefined),
  );
  return (
    <Section
      title="Test"
      aside={
        <Button
          icon="arrow"
          disabled={problem !== null}
          onClick={() => test.mutate(body)}
          busy={test.isPending && 'Waiting for the answer'}
        >
          Send test
        </Button>
      }
    >
      <p className="text-muted">
        One signed request, marked as a test. It is not stored, not counted and not tried again.
      </p>
      <details className="py-1">
        <summary className="link w-fit">Body of the test</summary>
        <div className="grid gap-2 py-2">
          <TextArea
            label="Body, JSON"
            value={body}
            onChange={(event) => setBody(event.target.value)}
            error={problem ?? undefined}
          />
          <div className="flex flex-wrap gap-2">
            <Button onClick={() => last.mutate()} busy={last.isPending && 'Reading'}>
              Use the last payload
            </Button>
            <Button onClick={() => setBody(SAMPLE)}>Use the sample</Button>
          </div>
        </div>
      </details>
      {test.data !== undefined && (
        <div className="border-t border-line">
          <AttemptView
            key={test.data.attempt.uid}
            attempt={test.data.attempt}
            body={JSON.stringify(JSON.parse(test.data.text))}
            open
          />
        </div>
      )}
    </Section>
  );
}
