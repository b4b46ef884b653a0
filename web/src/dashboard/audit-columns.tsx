import type { AuditEntry } from 'posthorn-client';
import type { Column } from '../ui/tables/columns.ts';
import { Id } from '../ui/text/id.tsx';
import { createdColumn } from './lists/list-columns.tsx';

export const auditColumns: Column<AuditEntry>[] = [
  createdColumn({ name: 'When', line: 2 }),
  { name: 'What', width: 'minmax(9rem, 1fr)', line: 1, cell: ({ action }) => action },
  {
    name: 'Who',
    width: 'minmax(7rem, 1fr)',
    from: 404,
    line: 2,
    cell: ({ actor }) => actor.type.replaceAll('_', ' '),
  },
  {
    name: 'On',
    width: '8rem',
    from: 640,
    cell: ({ resource }) => <Id value={resource.uid ?? ''} copy={false} />,
  },
];
