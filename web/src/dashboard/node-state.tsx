import type { Node } from 'posthorn-client';
import { apiOf } from '../data/session.ts';
import { StateBadge } from '../ui/text/state-badge.tsx';

export type { Node };

const ALIVE = { tone: 'ok', shape: 'check', word: 'Alive' } as const;
const SILENT = { tone: 'bad', shape: 'cross', word: 'Silent' } as const;

export const NodeBadge = ({ node }: { node: Node }) => <StateBadge look={node.is_alive ? ALIVE : SILENT} />;

export const nodesQuery = {
  queryKey: ['nodes'],
  queryFn: () => apiOf().nodes.list(),
  refetchInterval: 2000,
};
