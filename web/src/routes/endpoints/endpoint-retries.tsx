import { useQuery } from '@tanstack/react-query';
import type { Subscription } from 'posthorn-client';
import { useState } from 'react';
import { May } from '../../dashboard/may.tsx';
import { RetryFields, RetrySchedule, retriesOf, useProjectRetries } from '../../dashboard/retry-policy.tsx';
import { editedSubscription } from '../../data/edit/edited-subscription.ts';
import { useProject } from '../../data/project.ts';
import { EditDialog } from '../../parts/forms/edit-dialog.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { Section } from '../../ui/page/section.tsx';

const SHOWN = 5;

/** When the deliveries of the endpoint are tried again, by subscription. */
export function EndpointRetries({ endpoint }: { endpoint: string }) {
  const { api, id } = useProject();
  const ofProject = useProjectRetries();
  const [edited, setEdited] = useState<Subscription>();
  const subscriptions = useQuery({
    queryKey: [id, 'endpoint', endpoint, 'subscriptions'],
    queryFn: () => api.subscriptions.list({ endpointId: [endpoint], perPage: SHOWN }).page(),
  });
  return (
    <Section
      title="Retries"
      aside={
        <PageLink to="subscriptions" filters={{ endpoint }}>
          All subscriptions
        </PageLink>
      }
    >
      <QueryView query={subscriptions} rows={2}>
        {({ content }) =>
          content.length === 0 ? (
            <p className="text-muted">It has no subscription, so it gets no events.</p>
          ) : (
            <ul className="border-t border-line">
              {content.map((one) => {
                const policy = one.retry_config ?? ofProject;
                return (
                  <li key={one.uid} className="grid grid-cols-1 gap-2 border-b border-line py-2">
                    <div className="flex flex-wrap items-center justify-between gap-2">
                      <span className="min-w-0">
                        <PageLink to={`subscriptions/${one.uid}`}>{one.name}</PageLink>
                        {one.retry_config === undefined && (
                          <span className="text-muted"> as the project has it</span>
                        )}
                      </span>
                      <May use="updateSubscription">
                        <Button onClick={() => setEdited(one)} aria-label={`Edit retries of ${one.name}`}>
                          Edit retries…
                        </Button>
                      </May>
                    </div>
                    {policy !== undefined && <RetrySchedule policy={policy} />}
                  </li>
                );
              })}
            </ul>
          )
        }
      </QueryView>
      {edited !== undefined && (
        <EditDialog
          title={`Retries of ${edited.name}`}
          action="Save retries"
          onClose={() => setEdited(undefined)}
          edited={editedSubscription(api, edited)}
          changeOf={retriesOf}
        >
          <RetryFields own={edited.retry_config} />
        </EditDialog>
      )}
    </Section>
  );
}
