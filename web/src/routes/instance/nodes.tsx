import { useQuery } from '@tanstack/react-query';
import { type Node, NodeBadge, nodesQuery } from '../../dashboard/node-state.tsx';
import { PageBody } from '../../dashboard/page-body.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { PageHead } from '../../ui/page/section.tsx';
import { PlainTable, type TableColumn } from '../../ui/tables/plain-table.tsx';
import { Id } from '../../ui/text/id.tsx';
import { Time } from '../../ui/text/time.tsx';

const columns: TableColumn<Node>[] = [
  { name: 'Node', cell: ({ uid }) => <Id value={uid} what="node id" /> },
  { name: 'State', cell: (node) => <NodeBadge node={node} /> },
  { name: 'Roles', cell: ({ roles }) => roles.join(', ') },
  { name: 'Last seen', cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
  { name: 'Started', cell: ({ started_at }) => <Time at={started_at} /> },
  { name: 'Schema', cell: ({ schema }) => schema },
];

export function Nodes() {
  const nodes = useQuery(nodesQuery);
  return (
    <PageBody>
      <PageHead title="Nodes" />
      <QueryView query={nodes} label="Loading nodes">
        {(rows) => <PlainTable label="Nodes" rows={rows} columns={columns} rowKey={({ uid }) => uid} />}
      </QueryView>
    </PageBody>
  );
}
