import { useQuery } from '@tanstack/react-query';
import type { WholeEventDelivery } from 'posthorn-client';
import { useProject } from '../../data/project.ts';
import { AttemptView } from '../../parts/attempt-view.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { attemptsQuery } from './queries.ts';

/** The attempts, newest first. The newest is open. */
export function Attempts({ delivery }: { delivery: WholeEventDelivery }) {
  const { api, id } = useProject();
  const { num_trials, data, raw } = delivery.metadata;
  const attempts = useQuery(attemptsQuery(api, id, delivery.uid, num_trials));
  const body = raw === '' ? JSON.stringify(data) : raw;
  return (
    <Section title="Attempts">
      <QueryView query={attempts} label="Loading attempts" rows={3}>
        {(all) =>
          all.length === 0 ? (
            <p className="text-muted">No request has been sent yet.</p>
          ) : (
            <div className="border-t border-line">
              {all.toReversed().map((attempt, index) => (
                <AttemptView
                  key={attempt.uid}
                  attempt={attempt}
                  number={all.length - index}
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
