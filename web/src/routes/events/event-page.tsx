import { useQuery } from '@tanstack/react-query';
import type { WholeEvent } from 'posthorn-client';
import { CustomerLinks } from '../../dashboard/customer-link.tsx';
import { BackToList, useOpenId } from '../../dashboard/lists/list-layout.tsx';
import { May } from '../../dashboard/may.tsx';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { useAct } from '../../parts/use-act.ts';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { JsonView } from '../../ui/code/json-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead, Section } from '../../ui/page/section.tsx';
import { Facts } from '../../ui/tables/facts.tsx';
import { CopyButton } from '../../ui/text/copy.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Link } from '../../ui/text/link.tsx';
import { Time } from '../../ui/text/time.tsx';
import { eventQuery } from './queries.ts';
import { WhereItWent } from './where-it-went.tsx';

export function EventPage() {
  const { api, id: project, at } = useProject();
  const id = useOpenId() ?? '';
  const event = useQuery(eventQuery(api, project, id));
  return (
    <>
      <BackToList href={at('events')} label="Events" />
      <QueryView query={event} label="Loading the event" rows={10}>
        {(data) => <EventView event={data} />}
      </QueryView>
    </>
  );
}

function EventView({ event }: { event: WholeEvent }) {
  const { api, at, id: project } = useProject();
  const replay = useAct(
    () => api.events.replay(event.uid),
    () => 'Replay requested. New deliveries appear below',
  );
  const source = event.source_metadata;
  return (
    <>
      <PageHead title={event.event_type} beside={<Id value={event.uid} what="event id" />}>
        <CopyButton text={() => resendCommand(project, event)}>Copy as curl</CopyButton>
        <May use="replayEvent">
          <Button
            look="main"
            icon="again"
            onClick={() => replay.mutate()}
            busy={replay.isPending && 'Asking'}
          >
            Replay
          </Button>
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
              <Link key="" className="link" href={at(`sources/${source.uid}`)}>
                {source.name}
              </Link>
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
              <Link key="" className="link" href={at(`events/${event.duplicate_of}`)}>
                {event.duplicate_of}
              </Link>
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

function resendCommand(project: string, event: WholeEvent): string {
  const body = JSON.stringify({ event_type: event.event_type, data: event.data }).replaceAll("'", `'\\''`);
  return [
    `curl -s ${location.origin}/api/v1/projects/${project}/events/broadcast \\`,
    `  -H "Authorization: Bearer $POSTHORN_KEY" -H 'Content-Type: application/json' \\`,
    `  -d '${body}'`,
  ].join('\n');
}
