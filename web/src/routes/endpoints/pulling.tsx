import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { callCommand } from '../../dashboard/commands.ts';
import { plural } from '../../data/delivery-state.ts';
import { useProject } from '../../data/project.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { CodeBlock } from '../../ui/code/code-block.tsx';
import { Section } from '../../ui/page/section.tsx';

/** A pull endpoint shows counts instead of an address: waiting, with a consumer, and the command that fetches. */
export function Pulling({ endpoint: { uid } }: { endpoint: Endpoint }) {
  const { api, id } = useProject();
  const totals = useQuery({
    queryKey: [id, 'endpoint', uid, 'waiting'],
    queryFn: () => api.eventDeliveries.getWaitingTotals({ endpointId: [uid] }),
    refetchInterval: 3000,
  });
  const rows = (held: string, count: number, what: string) => (
    <PageLink to="deliveries" filters={{ endpoint: uid, held }}>
      {plural(count, 'delivery', 'deliveries')} {what}
    </PageLink>
  );
  return (
    <Section title="Fetching">
      <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
        <QueryView query={totals} label="Counting" rows={1}>
          {({ pull, retry, sending }) => (
            <p className="flex flex-wrap gap-x-4 gap-y-1">
              {rows('pull', pull, 'to fetch')}
              {rows('sending', sending, 'with the consumer')}
              {rows('retry', retry, 'to fetch again later')}
            </p>
          )}
        </QueryView>
        <p className="text-muted">
          Take up to ten, and report each within 30 s with POST to <code>pull/results</code>:
        </p>
        <CodeBlock
          label="Command"
          text={callCommand(id, `endpoints/${uid}/pull`, { max: 10, wait_seconds: 5 })}
        />
      </div>
    </Section>
  );
}
