import { useQuery } from '@tanstack/react-query';
import type { Session } from 'posthorn-client';
import { apiOf } from '../../data/session.ts';
import { ActButton } from '../../parts/acts.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Section } from '../../ui/page/section.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Time } from '../../ui/text/time.tsx';

/** Where the person is signed in, each with a button to end it. */
export function OwnSessions() {
  const sessions = useQuery({
    queryKey: ['own-sessions'],
    queryFn: () => apiOf().ownAccount.listSessions(),
  });
  const hasOthers = (sessions.data?.length ?? 0) > 1;
  return (
    <Section
      title="Sessions"
      aside={
        hasOthers && (
          <ActButton
            look="danger"
            busy="Ending"
            act={() => apiOf().ownAccount.endOtherSessions()}
            done={() => 'All other sessions have ended'}
          >
            End all other sessions
          </ActButton>
        )
      }
    >
      <QueryView query={sessions} label="Loading your sessions" rows={2}>
        {(rows) => <PlainTable label="Sessions" rows={rows} columns={COLUMNS} rowKey={({ uid }) => uid} />}
      </QueryView>
    </Section>
  );
}

const COLUMNS: TableColumn<Session>[] = [
  {
    name: 'Browser',
    cell: ({ user_agent }) => <span title={user_agent}>{user_agent === '' ? '–' : user_agent}</span>,
  },
  { name: 'IP address', cell: ({ address }) => <code className="font-mono text-xs">{address}</code> },
  {
    name: 'Signed in with',
    cell: ({ method, second_factor }) =>
      second_factor && method !== 'second factor' ? `${method}, second factor` : method,
  },
  { name: 'Began', cell: ({ created_at }) => <Time at={created_at} /> },
  { name: 'Last used', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { name: '', cell: (session) => <End session={session} /> },
];

function End({ session: { uid, current, method, address } }: { session: Session }) {
  if (current) return <span className="text-muted">This session</span>;
  return (
    <ActButton
      look="danger"
      className="h-7!"
      aria-label={`End the session by ${method} from ${address}`}
      busy="Ending"
      act={() => apiOf().ownAccount.endSession(uid)}
      done={() => 'The session has ended'}
    >
      End
    </ActButton>
  );
}
