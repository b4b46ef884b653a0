import { useQuery } from '@tanstack/react-query';
import type { WholeEventDelivery } from 'posthorn-client';
import { Section } from '../ui/page/section.tsx';
import { AttemptView } from './attempt-view.tsx';
import { QueryView } from './query-view.tsx';
import { useSite } from './site.ts';
import { useWords } from './words.ts';

/** The attempts, newest first. The newest is open. */
export function Attempts({ delivery }: { delivery: WholeEventDelivery }) {
  const { deliveries: t } = useWords();
  const { api, project } = useSite();
  const { num_trials, data, raw } = delivery.metadata;
  const attempts = useQuery({
    queryKey: [project, 'delivery', delivery.uid, 'attempts', num_trials],
    queryFn: () => api.deliveryAttempts.list(delivery.uid),
    placeholderData: (before) => before,
  });
  const body = raw === '' ? JSON.stringify(data) : raw;
  return (
    <Section title={t.attempts}>
      <QueryView query={attempts} rows={3}>
        {(all) =>
          all.length === 0 ? (
            <p className="text-muted">{t.noAttempts}</p>
          ) : (
            <div className="border-t border-line">
              {all.toReversed().map((attempt, index) => (
                <AttemptView
                  key={attempt.uid}
                  attempt={attempt}
                  number={all.length - index}
                  // That of the last attempt is known.
                  outcome={index === 0 ? delivery.last_outcome : undefined}
                  body={body}
                  open={index === 0}
                />
              ))}
            </div>
          )
        }
      </QueryView>
    </Section>
  );
}
