import { useQuery } from '@tanstack/react-query';
import type { OrderingKey } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import { ActButton } from '../../parts/acts.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { count } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';

type Key = OrderingKey;

/** The keys of an ordered subscription that a failed delivery holds, and the ways on. */
export function HeldKeys({ subscriptionId }: { subscriptionId: string }) {
  const { api, id } = useProject();
  const held = useQuery({
    queryKey: [id, 'ordering keys', subscriptionId],
    queryFn: () => api.subscriptions.listOrderingKeys({ held: true, subscriptionId, perPage: 50 }).page(),
    refetchInterval: 5000,
  });
  const columns: TableColumn<Key>[] = [
    { name: 'Key', cell: ({ key }) => (key === '' ? <span className="text-muted">no key</span> : key) },
    { name: 'Held since', cell: ({ held_at }) => held_at !== null && <Time at={held_at} /> },
    { name: 'Waiting', cell: ({ waiting }) => count(waiting) },
    {
      name: 'Failed delivery',
      cell: ({ head_id }) => <PageLink to={`deliveries/${head_id}`}>Show</PageLink>,
    },
    {
      name: '',
      cell: ({ key, uid, head_id }) => (
        <>
          <ActButton
            look="quiet"
            className="h-7"
            aria-label={`Resend the failed delivery of ${key}`}
            act={() => api.eventDeliveries.resend(head_id)}
            done={() => 'Resent: the key goes on when it succeeds'}
          >
            Resend
          </ActButton>
          <ActButton
            look="quiet"
            className="h-7"
            aria-label={`Skip the failed delivery of ${key}`}
            act={() => api.subscriptions.skipOrderingKeys({ ids: [uid] })}
            done={() => 'Skipped: the next delivery goes'}
          >
            Skip
          </ActButton>
        </>
      ),
    },
  ];
  return (
    <Section title="Held keys" aside="a failed delivery keeps those behind it waiting">
      <QueryView query={held} label="Loading held keys" rows={2}>
        {({ content, pagination }) =>
          content.length === 0 ? (
            <p className="text-muted">No key is held.</p>
          ) : (
            <>
              <PlainTable label="Held keys" rows={content} columns={columns} rowKey={({ uid }) => uid} />
              {pagination.has_next_page && <p className="text-muted">The first 50 are shown.</p>}
            </>
          )
        }
      </QueryView>
    </Section>
  );
}
