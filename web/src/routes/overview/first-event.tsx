import { useQuery } from '@tanstack/react-query';
import type { Posthorn } from 'posthorn-client';
import { sendCommand } from '../../dashboard/commands.ts';
import { useProject } from '../../data/project.ts';
import { ActButton } from '../../parts/acts.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Section } from '../../ui/page/section.tsx';
import { Time } from '../../ui/text/time.tsx';

const FIRST_TYPE = 'hello.world';

/** An endpoint at the built-in receiver with a subscription for its own event, and that event. */
async function sendFirst(api: Posthorn, url: string): Promise<void> {
  const { content } = await api.endpoints.list({ perPage: 100 }).page();
  if (!content.some((endpoint) => endpoint.url === url)) {
    await api.endpoints.create({
      name: 'Built-in receiver',
      url,
      subscriptions: [{ name: FIRST_TYPE, filter_config: { event_types: [FIRST_TYPE] } }],
    });
  }
  await api.events.broadcast({
    event_type: FIRST_TYPE,
    data: { message: 'My first event', sent_from: 'the dashboard' },
  });
}

/** For a project without events: the first one goes to a receiver inside the service and shows up here. */
export function FirstEvent() {
  const { api, id } = useProject();
  const receiver = useQuery({
    queryKey: [id, 'receiver'],
    queryFn: () => api.endpoints.getReceiver(),
    refetchInterval: 1000,
  });
  const [latest] = receiver.data?.requests ?? [];
  return (
    <section className="mb-6 grid grid-cols-1 gap-3 rounded-md border border-accent p-4">
      <h2 className="text-base">Send a first event</h2>
      <p className="max-w-[75ch]">
        {latest === undefined ? 'Nothing has come in yet. ' : 'Your first event arrived. '}The service has a
        receiver inside, so that you can see a signed webhook arrive without any server of yours.
      </p>
      <div>
        <ActButton
          look="main"
          icon="arrow"
          act={async () => sendFirst(api, receiver.data?.url ?? '')}
          done={() => 'Event sent'}
          disabled={receiver.data === undefined}
          busy="Sending"
        >
          Send a first event
        </ActButton>
      </div>
      {latest !== undefined && (
        <Section title={`Arrived: ${latest.event_type}`} aside={<Time at={latest.received_at} />}>
          <div className="grid gap-2">
            <CodeBlock label="Body that arrived" text={latest.body} />
            <CodeBlock
              label="Headers that arrived"
              text={Object.entries(latest.headers)
                .map(([name, value]) => `${name}: ${value}`)
                .join('\n')}
            />
            <PageLink to={`deliveries/${latest.event_delivery_id}`}>
              See the delivery with its attempt
            </PageLink>
          </div>
        </Section>
      )}
      <p className="text-muted">Or from a shell, in the folder where Posthorn was started:</p>
      <CodeBlock label="Command" text={sendCommand(id, FIRST_TYPE)} />
    </section>
  );
}
