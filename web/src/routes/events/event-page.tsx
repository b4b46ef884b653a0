import type { WholeEvent } from 'posthorn-client';
import { sendCommand } from '../../dashboard/commands.ts';
import { CustomerLinks } from '../../dashboard/customer-link.tsx';
import { RowPage } from '../../dashboard/lists/row-page.tsx';
import { May } from '../../dashboard/may.tsx';
import { useProject } from '../../data/project.ts';
import { ActButton } from '../../parts/acts.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { JsonView } from '../../ui/code/json-view.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { CopyButton } from '../../ui/text/copy.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Time } from '../../ui/text/time.tsx';
import { WhereItWent } from './where-it-went.tsx';

export const EventPage = () => (
  <RowPage list="events" title="Events" noun="event" load={({ events }, id) => events.get(id)}>
    {(event) => <EventView event={event} />}
  </RowPage>
);

function EventView({ event }: { event: WholeEvent }) {
  const { api, id: project } = useProject();
  const source = event.source_metadata;
  return (
    <>
      <PageHead title={event.event_type} beside={<Id value={event.uid} what="event id" />}>
        <CopyButton text={() => sendCommand(project, event.event_type, event.data)}>Copy as curl</CopyButton>
        <May use="replayEvent">
          <ActButton
            look="main"
            icon="again"
            act={() => api.events.replay(event.uid)}
            done={() => 'Replay requested. New deliveries appear below'}
          >
            Replay
          </ActButton>
        </May>
      </PageHead>
      <Facts
        items={[
          ['Received', <Time key="" at={event.created_at} />],
          ['Deliver at', event.deliver_at === null ? undefined : <Time key="" at={event.deliver_at} />],
          ['Expires', event.expires_at === null ? undefined : <Time key="" at={event.expires_at} />],
          [
            event.owner_ids.length > 1 ? 'Customers' : 'Customer',
            <CustomerLinks key="" owners={event.owner_ids} most={5} />,
          ],
          [
            'Source',
            source === null ? (
              'API'
            ) : (
              <PageLink key="" to={`sources/${source.uid}`}>
                {source.name}
              </PageLink>
            ),
          ],
          [
            'Idempotency key',
            event.idempotency_key === '' ? undefined : (
              <Id key="" value={event.idempotency_key} what="idempotency key" />
            ),
          ],
          [
            'Duplicate of',
            event.duplicate_of === '' ? undefined : (
              <PageLink key="" to={`events/${event.duplicate_of}`}>
                {event.duplicate_of}
              </PageLink>
            ),
          ],
          ['Failure', event.failure_reason === '' ? undefined : event.failure_reason],
        ]}
      />
      <WhereItWent id={event.uid} isDuplicate={event.is_duplicate_event} />
      <Section title="Payload">
        <JsonView value={event.data} raw={event.raw} label="Payload" />
      </Section>
      <Section title="Headers">
        <CodeBlock label="Headers" text={headerText(event.headers)} />
      </Section>
    </>
  );
}

const headerText = (headers: WholeEvent['headers']): string =>
  Object.entries(headers)
    .flatMap(([name, values]) => values.map((value) => `${name}: ${value}`))
    .join('\n') || 'none';
