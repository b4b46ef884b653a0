import type { MetaEvent } from 'posthorn-client';
import { RowPage } from '../../dashboard/lists/row-page.tsx';
import { May } from '../../dashboard/may.tsx';
import { triesOf } from '../../data/delivery-state.ts';
import { useProject } from '../../data/project.ts';
import { ActButton } from '../../parts/acts.tsx';
import { DeliveryBadge } from '../../parts/badges.tsx';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { JsonView } from '../../ui/code/json-view.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Time } from '../../ui/text/time.tsx';

export const MetaEventPage = () => (
  <RowPage
    list="meta-events"
    title="Meta events"
    noun="meta event"
    load={({ metaEvents }, id) => metaEvents.get(id)}
    everyMs={() => 3000}
  >
    {(event) => <View event={event} />}
  </RowPage>
);

function View({ event }: { event: MetaEvent }) {
  const { api } = useProject();
  const { attempt, metadata } = event;
  return (
    <>
      <PageHead
        title={event.event_type}
        beside={<DeliveryBadge delivery={{ ...event, waiting_for: null, cancelled_at: null }} />}
      >
        <May use="resendMetaEvent">
          <ActButton icon="again" act={() => api.metaEvents.resend(event.uid)} done={() => 'Retry requested'}>
            Send again
          </ActButton>
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
