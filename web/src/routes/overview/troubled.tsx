import { useQuery } from '@tanstack/react-query';
import type { GetHealthResult } from 'posthorn-client';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { Trouble } from '../../dashboard/trouble.tsx';
import { plural } from '../../data/delivery-state.ts';
import { isTroubled } from '../../data/endpoint-status.ts';
import { useProject } from '../../data/project.ts';
import type { TimeRange } from '../../data/time-range.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { Link } from '../../ui/text/link.tsx';
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

/** "3 failing, 1 disabled of 12". */
function Tally({ found }: { found: GetHealthResult }) {
  const words = Object.entries(found.by_state).filter(([state, count]) => isTroubled(state) && count > 0);
  if (words.length === 0) return null;
  return (
    <span className="text-muted">
      {words.map(([state, count]) => `${count.toLocaleString('en')} ${state}`).join(', ')} of{' '}
      {plural(total(found), 'endpoint')}
    </span>
  );
}

function Rows({ found }: { found: GetHealthResult }) {
  const { at } = useProject();
  const rows = found.endpoints.filter(({ state }) => isTroubled(state));
  if (rows.length === 0) {
    const all = total(found);
    const word = all === 0 ? 'No endpoints yet.' : `${plural(all, 'endpoint')}, none in trouble.`;
    return (
      <StateBadge look={{ tone: all === 0 ? 'off' : 'ok', shape: all === 0 ? 'slash' : 'check', word }} />
    );
  }
  const { ok, recovered } = found.by_state;
  const more = total(found) - ok - recovered - rows.length;
  return (
    <>
      {!found.complete && (
        <p className="pb-2 text-muted">
          Too many deliveries are open to count them all. Counts of open deliveries are lower bounds.
        </p>
      )}
      <ul aria-label="Endpoints in trouble" className="grid gap-2">
        {rows.map((health) => (
          <li key={health.endpoint_id}>
            <Trouble health={health} mayPause>
              <Link className="link font-semibold" href={at(`endpoints/${health.endpoint_id}`)}>
                {health.name}
              </Link>
              <CustomerLink owner={health.owner_id} none="" />
            </Trouble>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <PageLink to="customers">{plural(more, 'more endpoint')} in trouble, by customer</PageLink>
      )}
    </>
  );
}
