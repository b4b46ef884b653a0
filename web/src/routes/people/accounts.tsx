import type { Account } from 'posthorn-client';
import { useState } from 'react';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useRows } from '../../data/rows.ts';
import { apiOf } from '../../data/session.ts';
import { ProblemView } from '../../parts/query-view.tsx';
import { Button } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState, Skeleton } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Time } from '../../ui/text/time.tsx';
import { EditAccount, MakeLink, SetActive } from './account-dialogs.tsx';
import { Invite } from './invite.tsx';
import { PersonName, PersonState } from './person-cells.tsx';

type Act = 'edit' | 'link' | 'active';
type Chosen = { act: Act; account: Account };

/** All accounts of the instance. */
export function Accounts() {
  const list = useRows<Account>({
    key: ['accounts'],
    load: (page) => apiOf().people.listAccounts(page).page(),
  });
  const [inviting, setInviting] = useState(false);
  const [chosen, setChosen] = useState<Chosen>();
  const close = () => setChosen(undefined);
  return (
    <PageBody>
      <PageHead title="Accounts">
        {list.error === null && (
          <Button look="main" icon="plus" onClick={() => setInviting(true)}>
            Invite administrator
          </Button>
        )}
      </PageHead>
      {list.error !== null && <ProblemView error={list.error} onRetry={list.refetch} />}
      {list.isPending && <Skeleton label="Loading people" />}
      {!list.isPending && list.error === null && list.rows.length === 0 && (
        <EmptyState
          title="No people yet"
          text="Keys are for programs. Invite a person, or sign in as the first administrator:"
          command="npx posthorn sign-in-link"
        />
      )}
      {list.rows.length > 0 && (
        <PlainTable
          label="Accounts"
          rows={list.rows}
          columns={columns(setChosen)}
          rowKey={({ uid }) => uid}
        />
      )}
      {list.loadMore !== undefined && (
        <div className="mt-3">
          <Button onClick={list.loadMore}>Show more</Button>
        </div>
      )}
      {inviting && (
        <Invite
          title="Invite an administrator"
          invite={({ email, name }) => apiOf().people.inviteToInstance({ email, name })}
          onClose={() => setInviting(false)}
        />
      )}
      {chosen?.act === 'edit' && <EditAccount account={chosen.account} onClose={close} />}
      {chosen?.act === 'link' && <MakeLink account={chosen.account} onClose={close} />}
      {chosen?.act === 'active' && <SetActive account={chosen.account} onClose={close} />}
    </PageBody>
  );
}

const rolesOf = ({ instance_admin, projects }: Account): string => {
  if (instance_admin) return 'Administrator';
  return projects.length === 1 ? '1 project' : `${projects.length} projects`;
};

const columns = (choose: (chosen: Chosen) => void): TableColumn<Account>[] => [
  { name: 'Person', cell: (account) => <PersonName person={account} /> },
  { name: 'State', cell: (account) => <PersonState person={account} /> },
  { name: 'Access', cell: rolesOf },
  { name: 'Second factor', cell: ({ second_factor }) => (second_factor ? 'On' : 'Off') },
  { name: 'Last sign-in', cell: ({ last_sign_in_at }) => <Time at={last_sign_in_at} none="never" /> },
  {
    name: '',
    cell: (account) => {
      const isActive = account.status !== 'deactivated';
      const button = (act: Act, text: string, look: 'plain' | 'danger' = 'plain') => (
        <Button
          look={look}
          className="h-7!"
          aria-label={`${text}: ${account.email}`}
          onClick={() => choose({ act, account })}
        >
          {text}…
        </Button>
      );
      return (
        <span className="inline-flex gap-2">
          {button('edit', 'Edit')}
          {isActive && button('link', 'Reset')}
          {isActive ? button('active', 'Deactivate', 'danger') : button('active', 'Activate')}
        </span>
      );
    },
  },
];
