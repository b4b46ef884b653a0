import { useQuery } from '@tanstack/react-query';
import type { EndpointHealth, GetHealthResult } from 'posthorn-client';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { Trouble } from '../../dashboard/trouble.tsx';
import { plural } from '../../data/delivery-state.ts';
import { isTroubled } from '../../data/endpoint-status.ts';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { EndpointBadge } from '../../parts/badges.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { useWords } from '../../parts/words.ts';
import { Section } from '../../ui/page/section.tsx';
import { StateBadge } from '../../ui/text/state-badge.tsx';

const SHOWN = 10;

/** Endpoints that fail, the most harmful first, each with its cause. One quiet line if there are none. */
export function Troubled({ time, range }: { time: string; range: TimeRange }) {
  const { api, id } = useProject();
  const health = useQuery({
    queryKey: [id, 'health', time],
    queryFn: () => api.dashboard.getHealth({ ...range, limit: SHOWN }),
    refetchInterval: 5000,
    placeholderData: (before) => before,
  });
  return (
    <Section title="Endpoints in trouble" aside={health.data && <Tally found={health.data} />}>
      <QueryView query={health} label="Looking at the endpoints" rows={3}>
        {(found) => <Rows found={found} />}
      </QueryView>
    </Section>
  );
}

const total = ({ by_state: states }: GetHealthResult): number =>
  Object.values(states).reduce((sum, count) => sum + count, 0);

/** "3 failing, 1 disabled, 2 recovered of 12 endpoints". */
function Tally({ found }: { found: GetHealthResult }) {
  const { health: words } = useWords();
  const { ok, ...others } = found.by_state;
  if (ok === total(found)) return null;
  const parts = Object.entries(others).filter(([, count]) => count > 0) as [keyof typeof others, number][];
  return (
    <span className="text-muted">
      {parts
        .map(([state, count]) => `${count.toLocaleString('en')} ${words[state].toLowerCase()}`)
        .join(', ')}{' '}
      of {plural(total(found), 'endpoint')}
    </span>
  );
}

function Rows({ found }: { found: GetHealthResult }) {
  const rows = found.endpoints.filter(isTroubled);
  const { ok, recovered: well } = found.by_state;
  // The worst come first: one that is well is not among them while others are in trouble.
  const more = rows.length < SHOWN ? 0 : total(found) - ok - well - rows.length;
  return (
    <>
      {!found.complete && (
        <p className="pb-2 text-muted">
          Too many deliveries are open to count them all. Counts of open deliveries are lower bounds.
        </p>
      )}
      {rows.length === 0 ? (
        <NoTrouble of={total(found)} />
      ) : (
        <ul aria-label="Endpoints in trouble" className="grid gap-2">
          {rows.map((health) => (
            <li key={health.endpoint_id}>
              <Trouble health={health} mayPause>
                <Name of={health} />
              </Trouble>
            </li>
          ))}
        </ul>
      )}
      <Recovered endpoints={found.endpoints.filter(({ state }) => state === 'recovered')} />
      {more > 0 && (
        <PageLink to="customers">{plural(more, 'more endpoint')} in trouble, by customer</PageLink>
      )}
    </>
  );
}

function NoTrouble({ of: all }: { of: number }) {
  const word = all === 0 ? 'No endpoints yet.' : `${plural(all, 'endpoint')}, none in trouble.`;
  return <StateBadge look={{ tone: all === 0 ? 'off' : 'ok', shape: all === 0 ? 'slash' : 'check', word }} />;
}

const Recovered = ({ endpoints }: { endpoints: readonly EndpointHealth[] }) =>
  endpoints.length > 0 && (
    <ul aria-label="Recovered endpoints" className="mt-2 grid gap-1">
      {endpoints.map((health) => (
        <li key={health.endpoint_id} className="flex flex-wrap gap-x-3">
          <span>
            <EndpointBadge of={health} />
          </span>
          <Name of={health} />
        </li>
      ))}
    </ul>
  );

const Name = ({ of: { endpoint_id, name, owner_id } }: { of: EndpointHealth }) => (
  <>
    <span className="font-semibold">
      <PageLink to={`endpoints/${endpoint_id}`}>{name}</PageLink>
    </span>
    <CustomerLink owner={owner_id} none="" />
  </>
);
