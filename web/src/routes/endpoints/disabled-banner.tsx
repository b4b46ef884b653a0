import { useQuery } from '@tanstack/react-query';
import type { Endpoint } from 'posthorn-client';
import { May } from '../../dashboard/may.tsx';
import { plural } from '../../data/delivery-state.ts';
import { useMay } from '../../data/may.ts';
import { useProject } from '../../data/project.ts';
import { ActButton } from '../../parts/acts.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { useGo } from '../../ui/text/link.tsx';
import { Time } from '../../ui/text/time.tsx';

const ACTORS: Readonly<Record<string, string>> = {
  person: 'a person',
  api_key: 'an API key',
  portal_link: 'a portal link',
  instance_key: 'the instance key',
  cli: 'the command line',
  instance: 'the service',
};

type State = { status?: string; reason?: string } | null | undefined;

/** Says since when and why an endpoint is disabled, and sends what was discarded meanwhile. */
export function DisabledBanner({ endpoint }: { endpoint: Endpoint }) {
  const { api, id, at } = useProject();
  const go = useGo();
  const lost = { endpointId: [endpoint.uid], status: ['Discarded' as const], cancelled: false };
  const entry = useQuery({
    queryKey: [id, 'endpoint', endpoint.uid, 'disabled'],
    queryFn: async () => {
      const { content } = await api.audit.list({ resourceId: endpoint.uid, perPage: 50 }).page();
      return (
        content.find(
          ({ before, after }) =>
            (after as State)?.status === 'inactive' && (before as State)?.status !== 'inactive',
        ) ?? null
      );
    },
    enabled: useMay()('listAudit'),
  });
  const discarded = useQuery({
    queryKey: [id, 'endpoint', endpoint.uid, 'discarded'],
    queryFn: async () => (await api.eventDeliveries.countBatchRetry(lost)).num,
    refetchInterval: 5000,
  });
  const count = discarded.data ?? 0;
  const what = plural(count, 'delivery', 'deliveries');
  const reason = (entry.data?.after as State)?.reason;
  const actor = ACTORS[entry.data?.actor.type ?? ''];
  return (
    <section
      aria-label="This endpoint is disabled"
      className="mb-3 flex flex-wrap items-center gap-3 rounded-md border border-bad bg-bad-ground p-3"
    >
      <p className="min-w-60 grow">
        <strong>Disabled</strong>
        {entry.data != null && (
          <>
            {' '}
            <Time at={entry.data.created_at} />
          </>
        )}
        {reason === undefined ? actor !== undefined && ` by ${actor}` : `: ${reason}`}. Nothing is sent to it.{' '}
        {count > 0 && (
          <>
            <PageLink to="deliveries" filters={{ endpoint: endpoint.uid, state: 'Discarded' }}>
              {what}
            </PageLink>{' '}
            {count === 1 ? 'was' : 'were'} discarded.
          </>
        )}
      </p>
      <May use="activateEndpoint">
        <ActButton
          look="main"
          icon="play"
          act={async () => {
            await api.endpoints.activate(endpoint.uid);
            return count === 0 ? null : api.eventDeliveries.batchRetry(lost);
          }}
          done={(job) => {
            if (job !== null) go(at(`jobs/${job.uid}`));
            return job === null ? 'Active' : 'Active. The discarded deliveries are being sent';
          }}
        >
          {count === 0 ? 'Activate' : `Activate and send ${what}`}
        </ActButton>
      </May>
    </section>
  );
}

/** Its time is over. Only another time makes it active. */
export const ExpiredBanner = ({ endpoint }: { endpoint: Endpoint }) => (
  <section
    aria-label="This endpoint has expired"
    className="mb-3 rounded-md border border-bad bg-bad-ground p-3"
  >
    <strong>Expired</strong> <Time at={endpoint.expires_at} />. Nothing is sent to it, and its deliveries are
    discarded. Edit it to give it a later time.
  </section>
);
