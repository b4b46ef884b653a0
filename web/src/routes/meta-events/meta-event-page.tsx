import { useQuery } from '@tanstack/react-query';
import type { MetaEvent } from 'posthorn-client';
import { BackToList, useOpenId } from '../../dashboard/lists/list-layout.tsx';
import { May } from '../../dashboard/may.tsx';
import { triesOf } from '../../data/delivery-state.ts';
import { useProject } from '../../data/project.ts';
import { DeliveryBadge } from '../../parts/badges.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { useAct } from '../../parts/use-act.ts';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { JsonView } from '../../ui/code/json-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Time } from '../../ui/text/time.tsx';

export function MetaEventPage() {
  const { api, id: project, at } = useProject();
  const id = useOpenId() ?? '';
  const event = useQuery({
    queryKey: [project, 'meta-event', id],
    queryFn: () => api.metaEvents.get(id),
    refetchInterval: 3000,
  });
  return (
    <>
      <BackToList href={at('meta-events')} label="Meta events" />
      <QueryView query={event} label="Loading the meta event">
        {(data) => <View event={data} />}
      </QueryView>
    </>
  );
}

function View({ event }: { event: MetaEvent }) {
  const { api } = useProject();
  const resend = useAct(
    () => api.metaEvents.resend(event.uid),
    () => 'Retry requested',
  );
  const { attempt, metadata } = event;
  return (
    <>
      <PageHead
        title={event.event_type}
        beside={<DeliveryBadge delivery={{ ...event, waiting_for: null, cancelled_at: null }} />}
      >
        <May use="resendMetaEvent">
          <Button icon="again" onClick={() => resend.mutate()} busy={resend.isPending && 'Requesting'}>
            Send again
          </Button>
        </May>
      </PageHead>
      <Facts
        items={[
          ['Created', <Time key="" at={event.created_at} />],
          ['Attempts', triesOf(metadata)],
          ['Why', event.description],
          ['Id', <Id key="" value={event.uid} />],
        ]}
      />
      <Section title="Payload">
        <JsonView value={metadata.data} raw={metadata.raw} label="Payload" />
      </Section>
      <Section title="Last attempt">
        {attempt === null ? (
          <p className="text-muted">No request has been sent yet.</p>
        ) : (
          <CodeBlock
            label="Response"
            text={[attempt.http_status, attempt.error, attempt.response_data]
              .filter((text) => text !== '')
              .join('\n')}
          />
        )}
      </Section>
    </>
  );
}
