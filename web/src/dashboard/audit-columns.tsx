import type { AuditEntry } from 'posthorn-client';
import type { Column } from '../ui/tables/columns.ts';
import { Id } from '../ui/text/id.tsx';
import { Time } from '../ui/text/time.tsx';

export const auditColumns: Column<AuditEntry>[] = [
  {
    name: 'When',
    width: '6.5rem',
    isTime: true,
    line: 2,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
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
