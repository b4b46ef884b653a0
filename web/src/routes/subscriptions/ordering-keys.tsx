import { useQuery } from '@tanstack/react-query';
import type { OrderingKey } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import { QueryView } from '../../parts/query-view.tsx';
import { useAct } from '../../parts/use-act.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Link } from '../../ui/text/link.tsx';
import { count } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';

type Key = OrderingKey;

/** The keys of an ordered subscription that a failed delivery holds, and the ways on. */
export function HeldKeys({ subscriptionId }: { subscriptionId: string }) {
  const { api, id, at } = useProject();
  const held = useQuery({
    queryKey: [id, 'ordering keys', subscriptionId],
    queryFn: () => api.subscriptions.listOrderingKeys({ held: true, subscriptionId, perPage: 50 }).page(),
    refetchInterval: 5000,
  });
  const resend = useAct(
    ({ head_id }: Key) => api.eventDeliveries.resend(head_id),
    () => 'Resent: the key goes on when it succeeds',
  );
  const skip = useAct(
    ({ uid }: Key) => api.subscriptions.skipOrderingKeys({ ids: [uid] }),
    () => 'Skipped: the next delivery goes',
  );
  const columns: TableColumn<Key>[] = [
    { name: 'Key', cell: ({ key }) => (key === '' ? <span className="text-muted">no key</span> : key) },
    { name: 'Held since', cell: ({ held_at }) => held_at !== null && <Time at={held_at} /> },
    { name: 'Waiting', cell: ({ waiting }) => count(waiting) },
    {
      name: 'Failed delivery',
      cell: ({ head_id }) => (
        <Link className="link" href={at(`deliveries/${head_id}`)}>
          Show
        </Link>
      ),
    },
    {
      name: '',
      cell: (key) => (
        <Acts name={key.key} onResend={() => resend.mutate(key)} onSkip={() => skip.mutate(key)} />
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

function Acts({ name, onResend, onSkip }: { name: string; onResend(): void; onSkip(): void }) {
  return (
    <>
      <Button
        look="quiet"
        className="h-7"
        aria-label={`Resend the failed delivery of ${name}`}
        onClick={onResend}
      >
        Resend
      </Button>
      <Button
        look="quiet"
        className="h-7"
        aria-label={`Skip the failed delivery of ${name}`}
        onClick={onSkip}
      >
        Skip
      </Button>
    </>
  );
}
