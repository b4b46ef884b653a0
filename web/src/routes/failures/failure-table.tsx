import type { ListFailuresResult } from 'posthorn-client';
import type { ReactNode } from 'react';
import { CustomerLink } from '../../dashboard/customer-link.tsx';
import { useProject } from '../../data/project.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Link, withSearch } from '../../ui/text/link.tsx';
import { count } from '../../ui/text/numbers.ts';
import { Time } from '../../ui/text/time.tsx';

export type Group = ListFailuresResult['groups'][number];

/** A group is the same one as long as its endpoint and its cause are. */
export const groupKey = ({ endpoint_id, outcome }: Group): string => `${endpoint_id} ${outcome}`;

interface Props {
  groups: readonly Group[];
  time: string;
  /** The acts on a group. */
  acts(group: Group): ReactNode;
  /** The box of a group. */
  tick(group: Group): ReactNode;
  areMuted?: boolean;
}

/** The name of the actor who muted a group, if there is one. */
const muter = ({ name, type }: NonNullable<Group['muted']>['by']): string =>
  name || type.replaceAll('_', ' ');

const NONE = <span className="text-muted">0</span>;

/** The failures by endpoint and cause. Each number leads to its deliveries. */
export function FailureTable({ groups, time, acts, tick, areMuted = false }: Props) {
  const { at } = useProject();
  const rows = ({ endpoint_id, outcome }: Group, state: string) =>
    withSearch(at('deliveries'), { endpoint: endpoint_id, outcome, state, time });
  const columns: TableColumn<Group>[] = [
    {
      name: 'Endpoint',
      most: 'max-w-56',
      cell: (group) => (
        <>
          {tick(group)}
          {group.endpoint_deleted ? (
            `${group.endpoint_name} (deleted)`
          ) : (
            <PageLink to={`endpoints/${group.endpoint_id}`}>{group.endpoint_name}</PageLink>
          )}
        </>
      ),
    },
    { name: 'Customer', most: 'max-w-36', cell: ({ owner_id }) => <CustomerLink owner={owner_id} /> },
    {
      name: 'Cause',
      most: 'max-w-56',
      cell: ({ description, outcome }) => <span title={description}>{description || outcome}</span>,
    },
    {
      name: 'Failed',
      cell: (group) =>
        group.failed === 0 ? (
          NONE
        ) : (
          <Link className="link" href={rows(group, 'Failure')}>
            {count(group.failed)} failed
          </Link>
        ),
    },
    {
      name: 'Waiting to retry',
      cell: (group) =>
        group.retrying === 0 ? (
          NONE
        ) : (
          <Link className="link" href={rows(group, 'Retry')}>
            {count(group.retrying)}
            {group.at_least ? '+' : ''} waiting
          </Link>
        ),
    },
    ...(areMuted
      ? [
          {
            name: 'Muted',
            cell: ({ muted }: Group) =>
              muted !== null && (
                <>
                  by {muter(muted.by)}, ends <Time at={muted.until} />
                </>
              ),
          },
        ]
      : [{ name: 'First', isMinor: true, cell: ({ first_at }: Group) => <Time at={first_at} /> }]),
    { name: 'Last', cell: ({ last_at }) => <Time at={last_at} /> },
    { name: '', cell: acts },
  ];
  return (
    <PlainTable
      label={areMuted ? 'Muted failures' : 'Failures'}
      rows={groups}
      columns={columns}
      rowKey={groupKey}
    />
  );
}
