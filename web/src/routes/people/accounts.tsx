import type { Account } from 'posthorn-client';
import { type ReactElement, useState } from 'react';
import { PageBody } from '../../dashboard/page-body.tsx';
import { useRows } from '../../data/rows.ts';
import { apiOf } from '../../data/session.ts';
import { ProblemView } from '../../parts/query-view.tsx';
import { Button, RowButton } from '../../ui/controls/button.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { EmptyState, Skeleton } from '../../ui/page/states.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Time } from '../../ui/text/time.tsx';
import { EditAccount, MakeLink, SetActive } from './account-dialogs.tsx';
import { Invite } from './invite.tsx';
import { PersonName, PersonState } from './person-cells.tsx';

/** All accounts of the instance. */
export function Accounts() {
  const list = useRows<Account>({
    key: ['accounts'],
    load: (page) => apiOf().people.listAccounts(page).page(),
  });
  const [inviting, setInviting] = useState(false);
  const [open, setOpen] = useState<ReactElement>();
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
        <PlainTable label="Accounts" rows={list.rows} columns={columns(setOpen)} rowKey={({ uid }) => uid} />
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
      {open}
    </PageBody>
  );
}

const rolesOf = ({ instance_admin, projects }: Account): string => {
  if (instance_admin) return 'Administrator';
  return projects.length === 1 ? '1 project' : `${projects.length} projects`;
};

const columns = (open: (dialog: ReactElement | undefined) => void): TableColumn<Account>[] => [
  { name: 'Person', cell: (account) => <PersonName person={account} /> },
  { name: 'State', cell: (account) => <PersonState person={account} /> },
  { name: 'Access', cell: rolesOf },
  { name: 'Second factor', cell: ({ second_factor }) => (second_factor ? 'On' : 'Off') },
  { name: 'Last sign-in', cell: ({ last_sign_in_at }) => <Time at={last_sign_in_at} none="never" /> },
  {
    name: '',
    cell: (account) => {
      const isActive = account.status !== 'deactivated';
      const button = (text: string, Form: typeof EditAccount, look: 'plain' | 'danger' = 'plain') => (
        <RowButton
          act={text}
          of={account.email}
          aria-label={`${text}: ${account.email}`}
          look={look}
          onClick={() => open(<Form account={account} onClose={() => open(undefined)} />)}
        />
      );
      return (
        <span className="inline-flex gap-2">
          {button('Edit', EditAccount)}
          {isActive && button('Reset', MakeLink)}
          {isActive ? button('Deactivate', SetActive, 'danger') : button('Activate', SetActive)}
        </span>
      );
    },
  },
];
